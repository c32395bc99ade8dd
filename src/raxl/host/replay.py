"""A host that is a recording."""

from __future__ import annotations

from raxl.host.record import RecordedHost, Recording


class ReplayHost(RecordedHost):
    """Answers from a recording; a question that was not recorded has the recording's own reason."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording.answer)
        self.recording = recording
