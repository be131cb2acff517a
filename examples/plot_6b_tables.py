"""
From a table with text to labels
================================

Support tickets have a message, a plan, a channel, an amount and a date. ``SDGSClassifier`` takes the table as it is,
shows what became of each column, and explains its labels with the words of the messages. The table ships with the
package.
"""

from textwrap import fill

import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import make_pipeline

from sdgs import DecisionClassifier, SDGSClassifier
from sdgs.datasets import tickets_path
from sdgs.metrics import f1
from sdgs.preprocessing import TableEncoder

tickets = pd.read_csv(tickets_path())
labels = tickets.pop("tags").str.get_dummies(";")
train, test = slice(0, 320), slice(320, 400)
tickets.head(3)

# %%
# The model encodes all columns that are not numbers. ``encoder_`` shows the kind of each column, and why it was chosen.
# Here the number of the ticket is left out, because every value is different.
model = SDGSClassifier(random_state=0).fit(tickets[train], labels[train])
model.encoder_

# %%
# New tickets are encoded in the same way.
predicted = model.predict(tickets[test])
print(f"F1 of {len(predicted)} new tickets: {f1(labels[test], predicted):.2f}")

# %%
# The reasons for a label are words of the message and values of other columns.
ticket = tickets[320:321]
print(fill(ticket["message"].iloc[0], 90))
reasons = model.explain_prediction(ticket)[0]
for line in reasons.text().splitlines():
    print(fill(line, 90))
display = reasons.plot(max_reasons=10)

# %%
# Kinds can be chosen, as here to leave the date out. Other classifiers take the encoder as a step of a pipeline.
encoder = TableEncoder({"opened": "drop"})
trees = make_pipeline(encoder, DecisionClassifier(ExtraTreesClassifier(random_state=0), random_state=0))
trees.fit(tickets[train], labels[train])
print(f"F1 of trees: {f1(labels[test], trees.predict(tickets[test])):.2f}")
