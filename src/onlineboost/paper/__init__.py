"""The paper's experiments (Jung, Goetz, Tewari 2017), and what the paper says came out.

In the order of the work: `tables` has the numbers that the paper prints, and its systems as models of ours, `cells` the
runs of which its tables are made, and `summary` puts our tables beside the paper's. May be imported by `report` and
`cli`.
"""
