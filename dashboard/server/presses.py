"""Files that a press makes outlive the redraw of the page around their button.

Streamlit forgets what makes a file as soon as any session ends a run while the page of the button
is drawn anew, and a made file after two such ends, fetched or not.  On a busy machine a press then
comes to nothing: the browser still shows the button of the run before, or asks too late.
"""

from itertools import islice

from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileKind

KEPT, MADE = 200, 16  # buttons, of all sessions together, and made files that stay; the newest
OWNER = "kept for a press"


def outlive_redraws(files: MediaFileManager) -> None:
    """Have the newest buttons and made files stay when others are swept."""
    sweep = files.remove_orphaned_files

    def patient() -> None:
        with files._lock:
            kind, known = MediaFileKind.DOWNLOADABLE, files._file_metadata
            made = [key for key, file in known.items() if file.kind is kind]
            newest = (*islice(reversed(files._deferred_callables), KEPT), *made[-MADE:])
            files._files_by_session_and_coord[OWNER] = {key: key for key in newest}
        sweep()

    files.remove_orphaned_files = patient
