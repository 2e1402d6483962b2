"""Online multiclass boosting."""
