"""Random operations over all estimators, and a clean replica that must know the same: `make soak`."""
