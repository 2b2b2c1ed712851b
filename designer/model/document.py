"""The open design: its current value, its two revisions, its history, and who wants to know."""

from collections.abc import Callable
from dataclasses import dataclass

from designer.model.patch import Patch, apply, invert, merge
from designer.model.topology import Topology

Listener = Callable[[Patch], None]


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of the history: what it does, what it is called, which gesture it belongs to."""

    patch: Patch
    title: str
    gesture: str | None


class Document:
    """Holds the one topology that is edited; all changes go through `commit`, `undo` and `redo`.

    `design_revision` counts changes of meaning, `layout_revision` changes of the drawing: moving a
    box makes no result stale. History has no limit and survives a save.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._done: list[Step] = []
        self._undone: list[Step] = []
        self._listeners: list[Listener] = []
        self._design_revision = 0
        self._layout_revision = 0
        self._saved: Topology = topology

    @property
    def topology(self) -> Topology:
        """The current value; a snapshot costs nothing."""
        return self._topology

    @property
    def design_revision(self) -> int:
        """Rises with every change of meaning, undo included; never falls."""
        return self._design_revision

    @property
    def layout_revision(self) -> int:
        """Rises with every change of the drawing, undo included; never falls."""
        return self._layout_revision

    @property
    def is_saved(self) -> bool:
        """Whether the current value is the one that was last saved."""
        return self._topology is self._saved or self._topology == self._saved

    @property
    def undo_title(self) -> str | None:
        """What undo would take back, or None."""
        return self._done[-1].title if self._done else None

    @property
    def redo_title(self) -> str | None:
        """What redo would do again, or None."""
        return self._undone[-1].title if self._undone else None

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` with every patch from now on; the answer ends that."""
        self._listeners.append(listener)

        def forget() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return forget

    def mark_saved(self) -> None:
        """The current value is on disk."""
        self._saved = self._topology

    def commit(self, patch: Patch, title: str, gesture: str | None = None) -> None:
        """Makes the change and remembers it; patches of one gesture become one step.

        An empty patch does nothing. Raises PatchConflict, with nothing changed, where it does not
        fit.
        """
        if not patch:
            return
        self._move(patch)
        self._undone.clear()
        last = self._done[-1] if self._done else None
        if gesture is not None and last is not None and last.gesture == gesture:
            self._done.pop()
            patch = merge((last.patch, patch))
            title = last.title
        if patch:
            self._done.append(Step(patch, title, gesture))

    def undo(self) -> Patch:
        """Takes the last step back and returns the patch that did it (empty: nothing to undo)."""
        if not self._done:
            return ()
        back = invert(self._done[-1].patch)
        self._move(back)
        self._undone.append(self._done.pop())
        return back

    def redo(self) -> Patch:
        """Does the last undone step again and returns its patch (empty: nothing to redo)."""
        if not self._undone:
            return ()
        patch = self._undone[-1].patch
        self._move(patch)
        self._done.append(self._undone.pop())
        return patch

    def _move(self, patch: Patch) -> None:
        self._topology = apply(self._topology, patch)
        self._design_revision += any(not change.is_layout for change in patch)
        self._layout_revision += any(change.is_layout for change in patch)
        for listener in tuple(self._listeners):
            listener(patch)
