"""Every grid, threshold and size that changes a result, and the coefficients of the cost model, each with its evidence.

"CV" means F1 in cross-validation on training samples of the paper's data sets, in points. "Budget" marks values that
were set so that a fit stays within its time or memory, not tuned for F1. Sizes that bound memory alone stay beside the
code that allocates it. This module imports nothing, so that every layer may import it.

Dropped because they did not pay: ridge penalties per label. Without them F1 in nested CV (SDGSClassifierCV, 2 x 3
folds) changes by -0.13 on Medical, -0.06 Enron, +0.28 Slashdot, +0.15 Genbase, -0.23 Arts, +0.01 Education, +0.19
Recreation and -0.18 on Science: 0.00 on average.
"""

# --- Hyper-parameter grids, for samples of unit norm -----------------------------------------------------------------
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # ridge; half decades, one factorisation each
HUBERS = (None, 0.05, 0.025)  # residual weights; kept from earlier choices, not measured again
RANKS = (2, 4, 8)  # dimensions of a label's subspace; a grid of factors of two around the default
START_PENALTY = 1.0  # where the search for a penalty starts; it ends at the best of all on 9 sets x 2 seeds
MAX_UNCONDITIONAL_RANK = 4  # larger ones only if rank * k <= max(p, n / MIN_SAMPLES_PER_DIMENSION); budget
MIN_SAMPLES_PER_DIMENSION = 10  # budget
ALPHAS = (0.05, 0.1, 0.2)  # group penalties; a grid of factors of two around the default
DENSE_GAMMA = 2.0  # kernel width of dense samples; chosen in CV on five sets
SPARSE_GAMMA = 1.5  # the same for sparse samples
START_RANK, START_ALPHA = 4, 0.1  # SDGSClassifier's defaults, where the search starts, without huber and gamma

# --- Scaling ---------------------------------------------------------------------------------------------------------
MOSTLY_ZERO_SHARE = 0.25  # below this share of non-zero entries data are sparse counts: words have 0.1, images 0.5
NEGATIVE_SHARE = 0.2  # above it a column is a measurement: up to 20 % corrupted entries may be negative in counts
# Share that one column may have in the sum of squares of sums of parts: 0.01 to 0.1 on images, words and the paper's
# dense sets except Birds and Emotions (0.9, 0.7), but 0.5 to 1 in eleven tables of measurements. On these "columns" in
# place of "rows" gains 1.7 points on average in CV without a kernel (-3 to 9), and 0.0 with one.
MAX_COLUMN_SHARE = 0.5
SCALING_MARGIN = 0.05  # F1 by which "columns" must win: on sums it gains 0.03 in the preview, but lowers the final F1
PREVIEW_COLUMNS = 2048  # most relevant columns of the scaling preview; budget
PREVIEW_ROWS = 1000  # samples of the preview that `sdgs info` shows; budget

# --- Tables with text, categories and dates ---------------------------------------------------------------------------
# CV with SDGSClassifier on eight tables: support tickets, descriptions of Debian packages with their tags, films with
# genres, cars, penguins, weather, diamonds and computers.
MAX_CATEGORIES = 40  # values of a category with features; on package tags 20 was worse by 0.9, 100 better by 0.2
MIN_CATEGORY_REPEATS = 2  # samples per different value, below which a column is not a category
MIN_CATEGORY_COUNT = 2  # samples with a category that gets its own column; 1, 2 and 5 are within 0.1 on package tags
MIN_TERM_COUNT = 2  # texts with a term that is kept; 1 was worse by 0.7 on package tags, 0.0 on tickets
MAX_TERMS = 30_000  # of a kind in a column of texts, the most frequent ones; budget
# Groups of so many characters are counted only where words are not separated by spaces, or texts are single words:
# beside other words they changed F1 by 0.1 on tickets and -0.3 on package tags, with nine times as many features; for
# addresses of home pages, which are single words, they gained 0.7.
CHARACTER_NGRAMS = (2, 4)
MAX_SPARSE_DENSITY = 0.3  # a table with a smaller share of non-zeros is sparse: scikit-learn's ColumnTransformer

# --- Landmark kernel -------------------------------------------------------------------------------------------------
# n // 4, clipped to [500, 2000]. On text more gained nothing in CV. On dense samples a fit of SDGSClassifier then takes
# 1.5 to 2.2 times its time without a kernel; 1000 in place of 500 gained 0.2 on digits, -0.1 on Scene, -0.6 on Yeast.
LANDMARKS = (4, 500, 2000)
MANY_LANDMARKS = (2, 1500, 3000)  # for a search on dense samples: n // 2, clipped to [1500, 3000]; budget
MANY_LANDMARKS_OF_MANY_SAMPLES = (7, 4500)  # n // 7 up to 4500 if that is more: F1 rises on a fold of Mediamill; budget
MAX_SPREAD_SAMPLES = 5000  # that standard deviations are computed from; budget
MAX_DISTANCE_LANDMARKS = 300  # that the mean distance is computed from, which gamma is relative to; budget
LANDMARK_JITTER = 1e-6  # on the diagonal of the landmarks' Gram matrix: two landmarks may coincide

# --- Columns that labels are read from -------------------------------------------------------------------------------
MAX_READOUT_COLUMNS = 4096  # a factorisation takes 0.7 s for this width, and time grows with its cube; budget
MIN_SHARE_BESIDE_KERNEL = 0.25  # of them for other columns, however many landmarks there are; budget
MAX_RELEVANCE_SAMPLES = 8192  # that the most relevant columns are chosen from; budget
RELEVANCE_PENALTY = 1.0  # ridge penalty of the one-column regressions that rank columns: the scale of unit rows

# --- Mostly zero data: column weights by relevance, and sample weights for F1 ----------------------------------------
# Nested CV on eight text sets: sample weights gain 0.1, column weights 0.1 (SDGSClassifierCV) and 0.2 (SDGSClassifier).
PENALTY_WEIGHT_POWER = 0.25  # 0.5 was worse in CV
MIN_RELEVANCE = 1e-12  # relative to the largest: an irrelevant column is penalised, its coefficient not forced to zero

# --- Codes, calibration and decision ---------------------------------------------------------------------------------
CODE_TOL, CODE_TOL_FLOAT32 = 1e-6, 1e-5  # relative duality gaps at which coding stops; float32 resolves about 1e-6
MAX_CALIBRATION_SCORES = 500_000  # that four coefficients are fitted to; budget
CALIBRATION_C = 1e3  # inverse regularisation: almost none; without it separable labels have no finite solution
MAX_LAST_CHANGE = 1e-4  # of log-odds in the last step of a calibration; its error is about the square of that
MAX_LAST_CHANGE_COMPARISON = 1e-2  # the same where penalties are compared: an error of 1e-4
N_THRESHOLDS = 100  # candidates of one threshold for all labels: within 0.005 of the best of all in tests
MAX_CARDINALITY_FACTOR = 4  # the lowest of them predicts four times as many labels as there are
MIN_POSITIVES_PER_THRESHOLD = 3  # a label with fewer gets the common threshold
# Subset accuracy of decisions for cross-fitted probabilities of 14 training sets, tuned on two thirds of the samples:
# 41.8 % with factors of label sets, 39.3 % without; higher on 12 sets, equal on Genbase, lower on Birds (-0.6).
SET_COUNT_SMOOTHING = 1.0  # added to counts of label sets, and to their expectations; 0.5 and 2: -0.06 and -0.03
MAX_LABEL_SETS = 1000  # the most frequent ones; 500, 2000 and all: the same to 0.01
# With label_weight="balanced" a label's weight is (mean frequency / its frequency) ** a. Macro F1 and F1 on training
# samples of the paper's eleven sets change by 0.8 and 0.1 points for a = 0.25, 1.5 and -0.3 for 0.5, 1.4 and -1.3 for
# 0.75, 0.8 and -8 for 1. Relative to the most frequent label, a = 0.25: 1.3 and -0.4. n / (2 n_j), as in scikit-learn:
# -6.9 and -35.
BALANCED_WEIGHT_POWER = 0.5

# --- Unobserved labels -----------------------------------------------------------------------------------------------
OBSERVED_RIDGE_TOL = 1e-8  # of fitted values, which are near 0 and 1
OBSERVED_RIDGE_TOL_COMPARISON = 1e-4  # the same where penalties are compared
MAX_OBSERVED_STEPS = 200  # of conjugate gradients

# --- Labels that are given for only some of the samples that have them -----------------------------------------------
# Candidates for the propensity. Nine training sets, of whose labels a share was given: for 0.3 the estimates are 0.25
# to 0.4, for 0.5 they are 0.4 to 0.7, for 0.8 they are 0.65 to 0.9, for 1 they are 0.85 to 1. A high quantile of the
# probabilities of given labels (Elkan and Noto, 2008) is 0.12 to 0.64 for 0.3, and 0.3 to 0.85 for 0.5.
PROPENSITIES = tuple(step / 20 for step in range(1, 21))
PROPENSITY_ROWS = 3000  # samples that it is estimated from; budget

# --- Cross-validation and search -------------------------------------------------------------------------------------
MAX_CV_SAMPLES = 50_000  # that a penalty and a calibration are chosen on; budget
MIN_CV_SAMPLES = 1000  # even if they have more scores than that; budget
MAX_CV_SCORES = 7_500_000  # samples times labels, of the same; budget
ENOUGH_TEST_SAMPLES = 10_000  # folds are held out in turn until so many samples have been predicted; budget
MAX_COMPARED_SCORES = 1_000_000  # that two penalties are compared on; budget
MAX_COMPARISON_CALIBRATION_SCORES = 25_000  # for the calibration that is used for this comparison alone; budget
MIN_GAIN = 0.001  # a tenth of a point: less is within the spread over seeds, and larger models cost time
AVERAGING_TOLERANCE = 0.01  # candidates that are worse by more than a point are not averaged

# --- Updates of models that keep sums in place of samples ------------------------------------------------------------
# A neighbouring penalty is taken if it has gained more than this times the square root of the samples compared: a small
# multiple of what chance gives. F1 after ten batches without changes of the penalty, and with 0.1, 0.05 and 0.02: Scene
# with half of the samples kept, mean of three splits, 78.9, 80.0, 80.4, 80.4; in the order of the file 68.9, 73.9,
# 74.0, 74.0. A fixed number of 1000 compared samples gained 0.6 on Mediamill with 5,000 kept, and nothing on Scene.
PENALTY_GAIN_SPREAD = 0.05

# --- Cost model: time of a candidate relative to SDGSClassifier's defaults, fitted to measured fits -------------------
CV_SHARE_DENSE, CV_SHARE_SPARSE = 0.75, 0.55  # of a fit's time; the rest of a sparse fit includes the scaling preview
REFIT_SHARE = 0.25  # of a fit's time, once more on all samples
HUBER_COST = 1.75  # times as long to code
MAX_DENSE_KERNEL_COST, LANDMARKS_PER_DENSE_COST = 2.8, 400  # measured: 0.3 to 2.9 default fits
SPARSE_KERNEL_COST, SPARSE_COST_PER_LANDMARKS_PER_LABEL = 0.75, 0.02  # with many labels coding dominates

# --- Averages of classifiers -----------------------------------------------------------------------------------------
# Steps from the weights with the smallest log loss to each single classifier, of which the one with the best metric is
# taken, and half of it. SDGS with trees, six random splits of the training samples of digits, Mediamill, Genbase,
# Medical and Enron: F1 changes by -0.01, 0.02, 0.03, 0.47 and 0.07 points against the smallest log loss alone.
N_WEIGHT_STEPS = 5

# --- Suspicious labels -----------------------------------------------------------------------------------------------
# Evidence: mistakes planted in the training labels of nine data sets, 2 to 10 % of all entries flipped, or a twentieth
# or three of the labels exchanged, seeds 0 and 1. Where more than 100 given labels were wrong, the estimate rose by 0.7
# to 1.4 per planted one (median 0.95). Without planted ones it was 0.02 to 0.28 (median 0.12) times the count of
# confident learning. Shares of 0.5 and 0.1 gave the same slope; the first counts more without planted ones.
LEAST_PROBABLE_SHARE = 0.25  # of the samples of a label, which count as those that do not have it
# With a tenth of all labels removed, 0.26 to 0.67 of the listed pairs were such labels (median 0.40).
LIKELY_MISSING = 0.8
# Relative to the usual distance. Pairs with different labels in eleven training sets: 81 copies, 113 within 0.1, and
# 299 within 0.3, most of them in Birds and Enron, whose labels agree no better within 0.3 than within 0.5.
MAX_DUPLICATE_DISTANCE = 0.1
MAX_ZERO_DISTANCE = 1e-7  # the rounding error of distances that are computed from products

# --- Base learners of the methods ------------------------------------------------------------------------------------
# With scikit-learn's 100 iterations logistic regression warns on samples that are not scaled: single labels of sums of
# digits, Wine, Emotions, Birds and breast cancer, and label powersets of Scene too. With 1000 it converges on sums of
# digits, on single labels of Wine, and on Scene. Fits that need at most 100 take the same time, others up to ten times
# as long. Emotions would need 1700, breast cancer 2400 and Birds more than 10,000: there features differ by orders of
# magnitude, and the samples should be scaled.
LOGISTIC_REGRESSION_ITERATIONS = 1000

# --- Classifier chains and HOMER -------------------------------------------------------------------------------------
# CV with logistic regression. Most probable sets: beams of 10 are as good as exact inference on Emotions, Scene and
# Yeast, and as beams of 30 on Medical and Enron. Best expected F1: 100 draws are within 0.2 points of exact inference
# (0.3 of 1000 draws on Medical and Enron); beams of 10 lose 0.8 on Emotions, 0.6 on Yeast, 2.7 on Medical and 1.4 on
# Enron, because the few most probable sets have too little of the probability.
EXACT_CHAIN_LABELS = 10  # up to which inference is exact by default; budget: 1024 label sets per sample
MAX_EXACT_CHAIN_LABELS = 15  # budget: 1.3 s for 500 samples of Yeast, with 14 labels
MAX_KMEANS_ITERATIONS = 20  # of HOMER; Mulan's, not measured again

# --- Comparison of methods -------------------------------------------------------------------------------------------
MAX_COMPARED_SECONDS = 600.0  # estimated time of one fit, above which a method is compared only if named; budget

# --- Stratified splits -----------------------------------------------------------------------------------------------
# Labels of eleven training sets, 5 and 10 folds, relative to published iterative stratification, whose folds may differ
# in size: the difference in label distribution (LD) is 1.01 and 1.08 with exact sizes and no exchange, 0.66 and 0.77
# after 5 rounds, 0.65 and 0.76 after 20. If all labels have the same weight in the sum that exchanges lower, it is 0.62
# and 0.74 after 20, but 7 % more labels lack samples in some fold; in inverse proportion to their samples, none more.
MAX_EXCHANGE_ROUNDS = 20  # fewer if one exchanges nothing: three for 100,000 samples of 100 labels
# Random groups of ten training sets, of similar and of very different sizes: LD is 0.27 and 0.38 times that of folds
# of random groups, 0.30 and 0.41 with 100. Fold sizes are wrong by 0.2 % on average; with 10 by 0.4 %.
EXCHANGE_SIZE_WEIGHT = 30
