"""Lazy import hook: patches modules right after they are imported, and costs nothing where they never are."""

import sys

# module -> the one of ours whose patch() is called once, with the module just imported
_PATCHES = {
    "torch.utils.data.dataloader": "loader",
    "torch.optim.optimizer": "optimizer",
    "torch.nn.parallel.distributed": "exchange",
    "torchdata.stateful_dataloader.worker": "worker",
    "torch.autograd.profiler": "gpu",
    "tensorflow.python.data.ops.iterator_ops": "tfdata",
    "keras.src.backend.tensorflow.trainer": "keras",
    "nvidia.dali.plugin.pytorch": "dali",
    "nvidia.dali.plugin.paddle": "dali",
    "nvidia.dali.plugin.jax.iterator": "dali",
    "grain._src.python.dataset.dataset": "grain",
    "grain._src.python.data_loader": "grain",
    "datasets.arrow_dataset": "datasets_iter",
    "datasets.iterable_dataset": "datasets_iter",
    "torchdata.nodes.loader": "nodes",
    "ray.data.iterator": "ray_data",
    "ray._private.worker": "ray_data",
    "spdl.pipeline._build": "spdl",
    "jax._src.api": "jax_steps",
    "spdl.pipeline._iter_utils._subprocess": "spdl",
}


def _patch(name, module):
    """Hands `module` to the one of ours that patches it. Never raises."""
    try:
        from . import capture

        if not capture.start():
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
