"""
What a letter is made of, in words
==================================

Letters to a shop, each about one or two topics. With names of features and labels the decomposition of a letter is
text: which words belong to which label, and how much of the letter is not explained.
:doc:`The next example <plot_6a_why_this_label>` answers another question: why a label is predicted.
"""

import random

import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer

from sdgs import SDGSClassifier

SENTENCES = {
    "payment": [
        "the invoice shows the wrong amount",
        "my card was charged twice",
        "please refund the money to my card",
        "I paid the invoice but got a reminder",
        "the refund has not reached my bank account",
    ],
    "delivery": [
        "the parcel has not arrived",
        "the courier left the parcel in the rain",
        "tracking says that the parcel is lost",
        "delivery is two weeks late",
        "the courier never rang and took the parcel away",
    ],
    "account": [
        "I cannot log in with my password",
        "please reset my password",
        "my email address has changed",
        "close my account and delete my email address",
        "the log in page says that my password is wrong",
    ],
    "damage": [
        "the lamp came broken",
        "the glass has a crack",
        "one leg of the chair is broken",
        "the screen has a scratch and a crack",
        "the box was open and the lamp broken",
    ],
}
FILLERS = ["hello", "thank you", "please answer soon", "this is the second time I write", "kind regards"]


def letters(n, seed):
    """Random letters and their topics."""
    rng, texts, topics = random.Random(seed), [], []
    for _ in range(n):
        chosen = rng.sample(sorted(SENTENCES), rng.choice([1, 2]))
        parts = [sentence for topic in chosen for sentence in rng.sample(SENTENCES[topic], 2)]
        texts.append(". ".join([*parts, *rng.sample(FILLERS, 2)]))
        topics.append({topic: int(topic in chosen) for topic in SENTENCES})
    return texts, pd.DataFrame(topics)


texts, topics = letters(300, seed=0)
words = CountVectorizer(stop_words="english")
X = pd.DataFrame(words.fit_transform(texts).toarray(), columns=words.get_feature_names_out())
model = SDGSClassifier(scaling="idf", random_state=0).fit(X, topics)

# %%
# A new letter. The prediction has the names of the labels.
new = ["The parcel arrived two weeks late, and the lamp is broken. I want the money back on my card!"]
X_new = pd.DataFrame(words.transform(new).toarray(), columns=X.columns)
model.predict(X_new)

# %%
explanation = model.explain(X_new)
print(explanation[0].text(unit="words"))

# %%
# The same as a plot. Colours are the contributions of the labels to a word, the black mark is its weighted count in the
# letter, white is the residual. Letters about deliveries often contain the word "delivery", so the label contributes to
# it although it is not in this letter.
explanation[0].plot(max_features=10)

# %%
# The same as a table:
explanation.to_frame(by="label").round(3)
