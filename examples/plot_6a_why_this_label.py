"""
Why this label?
===============

A support ticket was given the label *shipping*. Which words decided that, without which words would it not have been
predicted, and what marks each label in general? The table of tickets ships with the package.
"""

from textwrap import fill

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder

from sdgs import SDGSClassifier
from sdgs.datasets import tickets_path

tickets = pd.read_csv(tickets_path(), index_col="ticket")
labels = tickets["tags"].str.get_dummies(";")
encoder = make_column_transformer(
    (TfidfVectorizer(min_df=2, sublinear_tf=True, norm=None), "message"),
    (OneHotEncoder(), ["plan", "channel"]),
    verbose_feature_names_out=False,
    sparse_threshold=0,
)
features = pd.DataFrame(encoder.fit_transform(tickets), tickets.index, encoder.get_feature_names_out())
model = SDGSClassifier(random_state=0).fit(features[:320], labels[:320])
ticket = features.loc[["T-10331"]]  # not among the training samples
print(fill(tickets.message["T-10331"], 90))
tickets.loc[["T-10331"], ["plan", "channel", "tags"]]

# %%
# The model computes the log-odds of each label as a sum, so that every feature has an exact part in it.
# ``explain_prediction`` names the largest parts, and says by which rule the label was decided.
reasons = model.explain_prediction(ticket)[0]
for line in reasons.text(unit="words").splitlines():
    print(fill(line, 90))

# %%
# The same as a plot. It begins with the base, the log-odds of *shipping* in a ticket without any words. Words that
# speak for the label go right, words against it left. The scale above has the probabilities: if that of a label is
# above the dashed line, it is predicted.
display = reasons.plot(max_reasons=12)

# %%
# A word acts in two ways: directly, and because it makes the ticket look like tickets about shipping. The latter goes
# through the component of the label *shipping*, which the model found in the ticket.
display = reasons.plot(kind="bar")

# %%
# Are these words really the reasons? Without the four strongest ones, the label is no longer predicted; without the
# plan and the channel of the ticket nothing changes.


def probability_without(names):
    """The probability of shipping if these words were not in the ticket."""
    rest = ticket.copy()
    rest[list(names)] = 0
    return model.predict_proba(rest)["shipping"].iloc[0]


strongest = [reason.name for reason in reasons.top_features(0, 4)]
plan_and_channel = [name for name in features if name.startswith(("plan_", "channel_"))]
pd.Series(
    {
        "the whole ticket": probability_without([]),
        f"without {', '.join(strongest)}": probability_without(strongest),
        "without plan and channel": probability_without(plan_and_channel),
    },
    name="probability of shipping",
).round(3).to_frame()

# %%
# ``counterfactual`` finds few words without which the decision would be the other one, and checks it by predicting
# again. None of them can be put back.
print(model.counterfactual(ticket, "shipping")[0])

# %%
# Why *not* a label? Damaged goods are often a matter of a refund, but this ticket has too few words about one: the sum
# begins far below zero.
not_refund = model.explain_prediction(ticket, ["refund"])[0]
for line in not_refund.text(unit="words").splitlines():
    print(fill(line, 90))
display = not_refund.plot()

# %%
# ``explain`` answers another question: what is the ticket made of? It decomposes the words of the ticket, not the
# probability. *Open* is one of the words that tickets about shipping usually contain. So the component of shipping
# explains it, but it is no reason for the label: above it speaks against it, because tickets about other things contain
# it too.
print(model.explain(ticket)[0].text(unit="words"))

# %%
# Over many tickets: what marks each label? Words count that set its tickets apart from the others.
marks = model.explain_labels(features[:320])
marks

# %%
# What labels say about each other: each cell is what the component of the label below adds to the log-odds of the label
# on the left, on average over the tickets in which it is found. Every component speaks for its own label, and most
# speak against other ones.
display = marks.plot()
