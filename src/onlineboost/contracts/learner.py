"""The contract of a weak learner: it turns x into a distribution over the labels, and learns (x, y, weight).

Its state is a NamedTuple that holds all learners of a segment; i is the number of one of them. `scratch` is a
NamedTuple of its own, for what it remembers between the kernels; `what` is a tuple that `ask` hands to `room` and
`teach`.
"""

from __future__ import annotations

from onlineboost._compile.dispatch import Contract

LEARNER = Contract("weak learner")


@LEARNER.optional
def find(learner, i, rows, first, scratch):
    """Learner i is about to be asked about rows first, first + 1, ..., one after the other."""
    return


@LEARNER.optional
def find_all(learner, scratch, n, first, rows, y):
    """Learners first, ..., n - 1 are about to be asked about these rows, one learner after the other.

    `y` are the labels of the rows; there are none if they are not known. What has to wait for memory is begun here and
    goes on in `find_more`, several segments in turns.
    """
    return


@LEARNER.optional
def find_more(learner, scratch, rows):
    """Go on with what `find_all` has begun; whether there is more to do."""
    return False


@LEARNER.optional
def remember(learner, i, what, l, scratch):
    """Learner i was asked about a row and voted for l: of use if the row comes again, to be learned in this round."""
    return


@LEARNER.optional
def recall(learner, i, scratch):
    """What learner i voted for when it was asked about this row in this round; -1: it was not.

    If it was, `ask` leaves out the distribution, and gives `what` alone.
    """
    return -1


@LEARNER.optional
def is_ready(learner, i, b):
    """Whether learner i can be asked about row b. If not, the loop stops there and the caller sees to it."""
    return True


@LEARNER.kernel
def ask(learner, i, rows, b, scratch, work):
    """What learner i says of row b: work.p[:n] for work.labels[:n], all other labels have 0. Returns n, what."""


@LEARNER.optional
def room(learner, i, what, weight, scratch):
    """Whether there is room to learn with this weight, and three numbers that say what room it takes."""
    return True, 0, 0, 0


@LEARNER.optional
def spare(learner, nodes, rows, stats):
    """Whether there is room for so much (`room`)."""
    return True


@LEARNER.optional
def forget(learner, i, rows, b):
    """After row b, learner i forgets what it knows of the columns whose `spread` is below 0 there."""
    return


@LEARNER.kernel
def teach(learner, i, rows, b, y, weight, t, what, scratch):
    """Learner i learns row b with label y in round t."""
