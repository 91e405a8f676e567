"""Training on Spark gives the model that processes give, in pipelines and in streaming queries."""

import os
import subprocess
import sys

import numpy as np
import pytest

import scwlearn
from scwlearn import AROW, SCW1, Features, KernelSCW1, StreamClassifier

pytest.importorskip("pyspark")

from distributed_examples import digest, prepared, write_libsvm
from places import ROOT
from spark_examples import FragileRunner, OldRunner, has_java, start_session

if not has_java():
    pytest.skip("Spark needs Java", allow_module_level=True)

from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F

from scwlearn.distributed import OtherVersion, Processes, UnreadablePart
from scwlearn.distributed.plan import Plan
from scwlearn.distributed.spark import SparkClassifier, SparkRunner, learn_batches
from scwlearn.distributed.tasks import Place, learn_rows, merge_learned
from scwlearn.files import SavedModel, read
from scwlearn.files.transport import pack

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    session = start_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_libsvm(tmp_path_factory.mktemp("data") / "some.libsvm", rows=1200, features=60)


@pytest.fixture(scope="module")
def processes():
    with Processes(1) as runner:
        yield runner


# Plans on files.


@pytest.mark.parametrize(
    ("parts", "rounds", "settings"),
    # More than eight parts are merged in two levels.
    [(10, 1, {"covariance": "full", "scale": "rms"}), (2, 2, {"covariance": "diagonal"})],
)
def test_a_plan_gives_the_bits_that_processes_give(spark, processes, file, parts, rounds, settings):
    plan = prepared(file, parts=parts, rounds=rounds, settings=settings)
    seen = []
    run = plan.run(SparkRunner(spark), lambda report: seen.append((report.place, report.size > 0)))
    assert digest(run) == digest(plan.run(processes))
    assert [place for place, _ in seen] == [report.place for report in run.reports]
    assert all(has_size for _, has_size in seen)
    assert len(seen) == 1 + parts * rounds
    assert run.seen == 1200


def test_dying_workers_change_nothing(spark, processes, file, tmp_path):
    plan = prepared(file, parts=5, rounds=3)
    runner = FragileRunner(SparkRunner(spark), str(tmp_path))
    run = plan.run(runner)
    died = len([*tmp_path.iterdir()])
    assert died == 1 + 5 * 3
    assert died + runner.killed >= 20
    assert digest(run) == digest(plan.run(processes))


def test_a_part_that_cannot_be_read_is_named(spark, tmp_path):
    path = write_libsvm(tmp_path / "bad.libsvm", rows=90, features=60)
    with open(path, "a") as data:
        data.write("1 5:1 4:x\n")
    with pytest.raises(UnreadablePart, match=r"round 2, part 3 \(.*bad.libsvm\[.*line 91"):
        prepared(path, parts=3, rounds=2).run(SparkRunner(spark))


def test_another_version_names_both(spark, file):
    with pytest.raises(OtherVersion, match=rf"has scwlearn {scwlearn.__version__}, .* made with 0\.0\.9"):
        prepared(file, parts=2, rounds=1).run(OldRunner(SparkRunner(spark)))


# Pipelines.


def make_rows(count=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 4))
    return x, (x @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=count) > 0).astype(float)


def make_frame(spark, x, y, partitions=3):
    """A frame with the rows in order, in partitions of different sizes."""
    rows = np.column_stack([x, y]).tolist()
    frame = spark.createDataFrame(rows, ["a", "b", "c", "d", "label"])
    # After a shuffle, rows come in any order.
    return frame.repartitionByRange(partitions, "a").sortWithinPartitions("a")


def learned_by_hand(start, parts, rounds):
    """What the plan makes of the rows of partitions, in this process."""
    plan, start = Plan(len(parts), rounds), pack(SavedModel.from_model(start))
    for number in range(plan.first_round, plan.rounds + 1):
        done = []
        for part, (x, y) in enumerate(parts, 1):
            if own := plan.rows(part, number, len(y)):
                rows = slice(own.start, own.stop)
                done.append(learn_rows(start, x[rows], y[rows], place=Place(1, number, part)))
        start = merge_learned(start, done, count=len(done), whole=True).model if done else start
    return start


def test_a_pipeline_learns_each_partition_in_order_and_is_saved(spark, tmp_path):
    x, y = make_rows()
    frame = make_frame(spark, x, y)
    assembler = VectorAssembler(inputCols=["a", "b", "c", "d"], outputCol="features")
    local = SCW1(C=0.5)
    pipeline = Pipeline(stages=[assembler, SparkClassifier(local, rounds=2)])
    fitted = pipeline.fit(frame)
    assert not hasattr(local, "classes_")

    model = fitted.stages[-1]
    parts = [np.array(part) for part in frame.rdd.map(list).glom().collect()]
    by_hand = learned_by_hand(local, [(part[:, :4], part[:, 4]) for part in parts], 2)
    assert model._packed == by_hand
    assert model.local().n_seen_ == 400

    path = str(tmp_path / "pipeline")
    fitted.write().overwrite().save(path)
    fitted.write().overwrite().save(path)
    again = PipelineModel.load(path)
    assert again.stages[-1]._packed == by_hand
    assert again.stages[-1].uid == model.uid

    predicted = again.transform(frame).orderBy("a").toPandas()
    order = np.argsort(x[:, 0])
    local = model.local()
    assert predicted["prediction"].tolist() == local.predict(x[order]).tolist()
    assert [v.toArray().tolist() for v in predicted["probability"]] == local.predict_proba(x[order]).tolist()
    assert [v[1] for v in predicted["rawPrediction"]] == local.decision_function(x[order]).tolist()
    assert MulticlassClassificationEvaluator(metricName="accuracy").evaluate(again.transform(frame)) > 0.9

    (file,) = (tmp_path / "pipeline" / "stages").glob("*/model.scwlearn")
    assert scwlearn.load(file).predict(x[:5]).tolist() == model.local().predict(x[:5]).tolist()


def test_sparse_vectors_dense_vectors_and_arrays_give_the_same_model(spark):
    x, y = make_rows(60)
    x[np.abs(x) < 0.7] = 0
    sparse = [Vectors.sparse(4, [(i, v) for i, v in enumerate(row) if v]) for row in x.tolist()]
    mixed = [vector if i % 3 else Vectors.dense(vector.toArray()) for i, vector in enumerate(sparse)]
    dense = [Vectors.dense(row) for row in x.tolist()]
    models = []
    for features in (sparse, mixed, dense, x.tolist()):
        frame = spark.createDataFrame([*zip(features, y.tolist(), strict=True)], ["features", "label"]).coalesce(1)
        models.append(SparkClassifier(AROW(covariance="diagonal")).fit(frame).local())
    assert pack(SavedModel.from_model(models[-2])) == pack(SavedModel.from_model(models[-1]))
    for model in models:
        np.testing.assert_allclose(model.decision_function(x), models[-1].decision_function(x), rtol=1e-12)


def test_raw_columns_of_a_stream_with_strings_dates_weights_and_nulls(spark):
    names, skies = ["sky", "wind", "day", "w", "y"], ["blue", "grey", None]
    rows = [(skies[i % 3], float(i % 7), f"2026-03-{i % 28 + 1:02}", 1.0 + i % 2, i % 3 == 1) for i in range(90)]
    frame = spark.createDataFrame(rows, names).withColumn("day", F.to_date("day")).repartition(3)
    stream = StreamClassifier("scw1", features=Features(kinds={"day": "date"}))
    model = SparkClassifier(stream, rounds=2, labelCol="y", weightCol="w", probabilityCol="").fit(frame)
    assert model.getInputCols() == ["sky", "wind", "day"]
    assert model.classes == [False, True]
    found = model.transform(frame)
    assert found.columns == ["sky", "wind", "day", "w", "y", "rawPrediction", "prediction"]
    assert found.where("prediction = y").count() == 90
    assert model.local().predict_one({"sky": "grey", "wind": 1.0}) is True
    assert model.local().counts.seen == 90


def test_empty_partitions_and_a_class_of_one_partition_alone(spark):
    rows = [(float(i), "cat" if i % 2 else "dog") for i in range(40)] + [(100.0 + i, "emu") for i in range(20)]
    frame = spark.createDataFrame(rows, ["size", "kind"]).repartitionByRange(2, "size")
    empty = spark.createDataFrame([], frame.schema)
    frame = empty.union(frame).union(empty)
    model = SparkClassifier(StreamClassifier("arow", scale="rms"), rounds=2, labelCol="kind").fit(frame)
    assert model.classes == ["cat", "dog", "emu"]
    assert model.numClasses == 3
    assert model.local().counts.seen == 60
    assert model.local().predict_one({"size": 110.0}) == "emu"
    assert model.transform(frame.limit(1)).first()["probability"].size == 3


def test_bad_frames_are_refused_with_what_to_do(spark):
    frame = spark.createDataFrame(
        [(Vectors.dense([1.0]), 1.0, "s"), (Vectors.dense([1.0]), None, "s")], ["features", "label", "s"]
    )
    fit = SparkClassifier(SCW1()).fit
    with pytest.raises(ValueError, match=r"'label' is null in 1 of 2 rows; .*dropna\(subset=\['label'\]\)"):
        fit(frame)
    with pytest.raises(ValueError, match="no column 'target'; its columns are features, label, s"):
        SparkClassifier(SCW1(), labelCol="target").fit(frame)
    with pytest.raises(TypeError, match=r"featuresCol 's' has the type string; .*VectorAssembler"):
        SparkClassifier(SCW1(), featuresCol="s").fit(frame)
    with pytest.raises(TypeError, match=r"labelCol 'features' has the type vector"):
        SparkClassifier(SCW1(), labelCol="features").fit(frame)
    with pytest.raises(TypeError, match="column 'features' has vectors"):
        SparkClassifier(StreamClassifier()).fit(frame)
    with pytest.raises(ValueError, match="no rows"):
        fit(frame.limit(0))
    with pytest.raises(ValueError, match="inputCols are for a StreamClassifier"):
        SparkClassifier(SCW1(), inputCols=["s"]).fit(frame)
    uneven = spark.createDataFrame([([1.0], 1.0), ([1.0, 2.0], 0.0)], ["features", "label"]).coalesce(1)
    with pytest.raises(UnreadablePart, match=r"round 1, part 1 \(partition 0, rows 0 to 1\): .* from 1 to 2 features"):
        fit(uneven)
    with pytest.raises(ValueError, match="has a column 's' already"):
        fit(frame.dropna()).setPredictionCol("s").transform(frame)


def test_only_models_that_can_be_merged_are_taken():
    with pytest.raises(TypeError, match=r"without a kernel.*got KernelSCW1"):
        SparkClassifier(KernelSCW1())
    with pytest.raises(TypeError, match="got Learner"):
        SparkClassifier(scwlearn.Learner())


def test_the_classifier_itself_is_saved(spark, tmp_path):
    classifier = SparkClassifier(SCW1(C=0.25), rounds=5, labelCol="y").setWeightCol("w")
    classifier.save(str(tmp_path / "classifier"))
    again = SparkClassifier.load(str(tmp_path / "classifier"))
    assert (again.getRounds(), again.getLabelCol(), again.getWeightCol()) == (5, "y", "w")
    assert again.local().C == 0.25


# Streaming.


def stream_of(spark, directory):
    return spark.readStream.schema("a double, b double, y string").option("maxFilesPerTrigger", 1).json(str(directory))


def write_batch(directory, number, count=40):
    rng = np.random.default_rng(number)
    with open(directory / f"{number}.json", "w") as file:
        for a, b in rng.normal(size=(count, 2)).round(3).tolist():
            file.write(f'{{"a": {a}, "b": {b}, "y": "{"up" if a > b else "down"}"}}\n')


def run_query(stream, checkpoint, learn):
    query = stream.writeStream.foreachBatch(learn).option("checkpointLocation", str(checkpoint))
    query = query.trigger(availableNow=True).start()
    query.awaitTermination()


def test_each_micro_batch_is_learned_exactly_once(spark, tmp_path):
    data, checkpoint, path = tmp_path / "data", tmp_path / "checkpoint", tmp_path / "model"
    data.mkdir()
    learn = learn_batches(StreamClassifier("scw1"), path, labelCol="y")
    stream = stream_of(spark, data)
    write_batch(data, 0)
    write_batch(data, 1)
    run_query(stream, checkpoint, learn)
    assert (read(path).batch, scwlearn.load(path).counts.seen) == (1, 80)

    def learn_and_crash(batch, number):
        learn(batch, number)
        raise OSError("power cut")

    write_batch(data, 2)
    with pytest.raises(Exception, match="power cut"):
        run_query(stream, checkpoint, learn_and_crash)
    content = path.read_bytes()
    assert scwlearn.load(path).counts.seen == 120
    # Batch 2 is repeated, and has been learned.
    run_query(stream, checkpoint, learn)
    assert path.read_bytes() == content
    write_batch(data, 3)
    run_query(stream, checkpoint, learn)
    assert (read(path).batch, scwlearn.load(path).counts.seen) == (3, 160)


def test_a_batch_before_the_last_is_skipped_with_a_warning(spark, tmp_path):
    learn = learn_batches(StreamClassifier("arow"), tmp_path / "model", labelCol="y")
    frame = spark.createDataFrame([(1.0, "a"), (2.0, "b")], ["x", "y"])
    learn(frame, 5)
    with pytest.warns(UserWarning, match="batch 5 is skipped"):
        learn(frame, 5)
    with pytest.warns(UserWarning, match=r"batch 0 is skipped, .* batches up to 5"):
        learn(frame, 0)
    assert scwlearn.load(tmp_path / "model").counts.seen == 2


def test_a_column_with_a_dot_is_refused(spark):
    frame = spark.createDataFrame([(1.0, "a"), (2.0, "b")], ["x", "y"])
    model = SparkClassifier(StreamClassifier("arow"), rounds=1, labelCol="y").fit(frame)
    with pytest.raises(ValueError, match=r"a dot in their name .*'s\.t'; rename it"):
        model.transform(spark.createDataFrame([(1.0, 2.0)], ["x", "s.t"]))


def test_scores_and_probabilities_of_a_single_class_have_one_entry(spark):
    frame = spark.createDataFrame([(1.0, "a"), (2.0, "a")], ["x", "y"])
    model = SparkClassifier(StreamClassifier("arow"), rounds=1, labelCol="y").fit(frame)
    row = model.transform(frame).first()
    assert (len(model.classes), row["rawPrediction"].size, row["probability"].size) == (1, 1, 1)


# Spark Connect.

CONNECT = """
import sys
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession
from distributed_examples import digest, prepared
from scwlearn import AROW
from scwlearn.distributed.spark import SparkClassificationModel, SparkClassifier, SparkRunner

file, path = sys.argv[1:]
session = SparkSession.builder.remote("local[2]").config("spark.sql.artifact.copyFromLocalToFs.allowDestLocal", True)
session = session.getOrCreate()
run = prepared(file, parts=2, rounds=1).run(SparkRunner(session))
rows = [(Vectors.dense([i - 9.5, 1.0]), float(i > 9)) for i in range(20)]
frame = session.createDataFrame(rows, ["features", "label"])
model = SparkClassifier(AROW(), rounds=2).fit(frame)
model.save(path)
predicted = [row.prediction for row in SparkClassificationModel.load(path).transform(frame).collect()]
expected = model.local().predict([features.toArray() for features, _ in rows])
print(digest(run), model.local().n_seen_, predicted == expected.tolist())
session.stop()
"""


def test_everything_works_through_spark_connect(processes, file, tmp_path):
    pytest.importorskip("grpc")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "tests" / "_support")}
    # In a process of its own: a process that has a classic session cannot have one of Connect.
    command = [sys.executable, "-W", "ignore", "-c", CONNECT, str(file), str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    expected = digest(prepared(file, parts=2, rounds=1).run(processes))
    assert done.stdout.split() == [expected, "20", "True"]
