"""Lazy import hook: patches modules right after they are imported, and costs nothing where they never are."""

import sys

# module -> the one of ours whose patch() is called once, with the module just imported
_PATCHES = {
    "torch.utils.data.dataloader": "torch_loader.loader",
    "torch.optim.optimizer": "steps.optimizer",
    "torch._dynamo.eval_frame": "steps.compilers",
    "torch.nn.parallel.distributed": "steps.exchange",
    "torchdata.stateful_dataloader.worker": "torch_loader.worker",
    "torch.autograd.profiler": "steps.gpu",
    "tensorflow.python.data.ops.iterator_ops": "loaders.tfdata",
    "tensorflow.python.data.ops.dataset_ops": "loaders.tfdata",
    "keras.src.backend.tensorflow.trainer": "loaders.keras",
    "keras.src.backend.jax.trainer": "loaders.keras_jax",
    "nvidia.dali.plugin.pytorch": "loaders.dali",
    "nvidia.dali.plugin.paddle": "loaders.dali",
    "nvidia.dali.plugin.jax.iterator": "loaders.dali",
    "nvidia.dali.experimental.dynamic._ops": "loaders.dali_dynamic",
    "nvidia.dali.experimental.dynamic._external_source": "loaders.dali_dynamic",
    "grain._src.python.dataset.dataset": "loaders.grain",
    "grain._src.python.data_loader": "loaders.grain",
    "datasets.arrow_dataset": "loaders.datasets_iter",
    "datasets.iterable_dataset": "loaders.datasets_iter",
    "torchdata.nodes.loader": "loaders.nodes",
    "ray.data.iterator": "loaders.ray_data",
    "ray._private.worker": "loaders.ray_data",
    "spdl.pipeline._build": "loaders.spdl",
    "torch_geometric.loader.base": "loaders.graphs",
    "dgl.dataloading.dataloader": "loaders.graphs",
    "jax._src.api": "steps.jax_loop",
    "tensorflow.python.eager.polymorphic_function.polymorphic_function": "steps.keras_loop",
    "keras.src.optimizers.base_optimizer": "steps.keras_loop",
    "tf_keras.src.optimizers.optimizer": "steps.keras_loop",
    "tf_keras.src.optimizers.legacy.optimizer_v2": "steps.keras_loop",
    "spdl.pipeline._iter_utils._subprocess": "loaders.spdl",
}


_ALWAYS = {"torch._dynamo.eval_frame"}  # keeps what was patched before from harm, whether or not anything is recorded now


def _patch(name, module):
    """Hands `module` to the one of ours that patches it. Never raises."""
    try:
        from . import capture

        if not capture.start() and name not in _ALWAYS:
            return
        try:
            patcher = __import__(__package__ + "." + _PATCHES[name], fromlist=["patch"])
            patcher.patch(module)
        except Exception as error:
            capture.fail("patching " + name, error)
    except Exception:
        pass


class _Finder:
    """First on sys.meta_path; lets the other finders find, and follows the loader of the modules it waits for."""

    def __init__(self, names):
        self._waiting = set(names)
        self._searching = set()

    def find_spec(self, name, path=None, target=None):
        if name not in self._waiting or name in self._searching:
            return None
        self._searching.add(name)  # other tools' finders may ask us again
        try:
            spec = self._real_spec(name, path, target)
        finally:
            self._searching.discard(name)
        if spec is not None:
            self._follow(name, spec.loader)
        return spec

    def _real_spec(self, name, path, target):
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                return spec
        return None

    def _follow(self, name, loader):
        """Shadows exec_module on this one loader object until the module was executed."""
        real = getattr(loader, "exec_module", None)
        if real is None:
            return

        def exec_module(module):
            if module.__name__ != name:
                return real(module)
            try:
                del loader.exec_module
            except AttributeError:
                pass
            real(module)
            self._done(name)
            _patch(name, module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # a loader without a __dict__: not torch as anybody installs it

    def _done(self, name):
        self._waiting.discard(name)
        if not self._waiting and self in sys.meta_path:
            sys.meta_path.remove(self)


def install():
    """Patches what is imported already and waits for the rest."""
    waiting = []
    for name in _PATCHES:
        module = sys.modules.get(name)
        if module is not None:
            _patch(name, module)
        else:
            waiting.append(name)
    if waiting:
        sys.meta_path.insert(0, _Finder(waiting))
