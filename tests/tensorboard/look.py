"""What TensorBoard's own readers find in runs: keys, metrics and how runs ended by its plugin hparams, pictures, curves.
Prints a line for each finding, for tests/sh/tensorboard.sh to compare."""
import logging
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups
from tensorboard.util import tensor_util


def hparams(root, multiplexer):
    provider = data_provider.MultiplexerDataProvider(multiplexer, root)
    context = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    request = RequestContext()
    experiment = context.experiment_from_metadata(
        request, "", True, context.hparams_metadata(request, ""),
        context.hparams_from_data_provider(request, "", 1000))
    print("keys", len(experiment.hparam_infos))
    for info in experiment.hparam_infos:
        if info.differs:
            print("differs", info.name)
    for info in experiment.metric_infos:
        print("metric", info.name.tag)
    asked = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=100, allowed_statuses=[0, 1, 2, 3])
    for group in list_session_groups.Handler(request, context, "", asked).run().session_groups:
        for session in group.sessions:
            status = api_pb2.Status.Name(session.status)
            order = "in order" if not session.end_time_secs or session.end_time_secs > session.start_time_secs else "out of order"
            print("session", session.name, status, order)
        for key in ("optimizer.lr", "train.deterministic", "model.name", "train.epochs"):
            value = group.hparams[key]
            print("value", group.name, key, getattr(value, value.WhichOneof("kind")))


def accumulated(run, accumulator):
    for tag in accumulator.Tags()["tensors"]:
        events = accumulator.Tensors(tag)
        steps = [e.step for e in events]
        if tag.startswith("_hparams_"):
            print("told", run, tag.split("/")[1], steps)
        elif tag.startswith(("trained with/", "wrong/")):
            for e in events:
                width, height, *pngs = tensor_util.make_ndarray(e.tensor_proto)
                assert all(p.startswith(b"\x89PNG\r\n\x1a\n") for p in pngs), tag
                print("picture", run, tag.split("/")[0], e.step, int(width), int(height), len(pngs), tag)
        else:
            assert steps == sorted(set(steps)), (tag, steps)
            print("curve", run, tag, len(steps))


def main():
    root = sys.argv[1]
    multiplexer = plugin_event_multiplexer.EventMultiplexer(size_guidance={"tensors": 0, "images": 0, "scalars": 0})
    multiplexer.AddRunsFromDirectory(root)
    multiplexer.Reload()
    hparams(root, multiplexer)
    for run in sorted(multiplexer.Runs()):
        accumulated(run, multiplexer.GetAccumulator(run))


main()
