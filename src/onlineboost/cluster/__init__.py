"""The same chain on many machines, public: `Cluster` spreads a classifier over a Ray cluster, exactly.
`each` calls a function on many things at once there.

`travel` is what goes from machine to machine, `parts` what each of them has, `line` the order of it all and what
happens when a process is lost, `away` the classifier at the head of the line. Engines run the processes: `ray_engine`,
and `here` in this process. May be imported by `paper`, `report` and `cli`.
"""

from onlineboost.cluster.cluster import Cluster
from onlineboost.cluster.each import each
from onlineboost.cluster.errors import ClusterError
from onlineboost.cluster.here import Here

__all__ = ["Cluster", "ClusterError", "Here", "each"]
