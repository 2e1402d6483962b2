"""The paper's experiments (Jung, Goetz, Tewari 2017), beside the library: `onlineboost reproduce` runs them again.

In the order of the work: `tables` has the numbers that the paper prints, its systems as models of ours, and our numbers
beside the paper's; `cells` the runs of which the tables are made; `report_page` the page, `command` the command.
May import anything of `onlineboost`, which imports nothing of it, but finds the command here.
"""
