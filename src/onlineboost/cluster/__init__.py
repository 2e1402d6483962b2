"""The same chain on many machines, public: `Cluster` spreads a classifier over a Ray cluster, exactly.
`each` calls a function on many things at once there.

`parts` is what each machine has, and what travels from one to the next; `line` the order of it all, and what happens
when a process is lost; `remote` the classifier at the head of the line. Engines run the processes: `ray_engine`, and
`Here` in this process (`line`). May be imported by `report` and `cli`.
"""

from onlineboost.cluster.cluster import Cluster, each
from onlineboost.cluster.line import ClusterError, Here

__all__ = ["Cluster", "ClusterError", "Here", "each"]
