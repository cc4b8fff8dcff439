"""An approver that answers from a script."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from codemode_registry import ApprovalRequest

__all__ = ["ScriptedApprover"]


class ScriptedApprover:
    """Answers each question with the next of its answers, then with `otherwise`; remembers what it was asked."""

    def __init__(
        self,
        answers: Iterable[str | Callable[[ApprovalRequest], str]] = (),
        *,
        otherwise: str = "rejected",
    ) -> None:
        """Write the script.

        Args:
            answers: `"allowed-once"`, `"rejected"`, `"cancelled"`, `"unavailable"`, or a function of the request.
            otherwise: the answer once the script has run out.
        """
        self._answers: deque[str | Callable[[ApprovalRequest], str]] = deque(answers)
        self._otherwise = otherwise
        self.requests: list[ApprovalRequest] = []
        """What was asked, in order."""

    def then(self, *answers: str | Callable[[ApprovalRequest], str]) -> ScriptedApprover:
        """Add answers to the end of the script."""
        self._answers.extend(answers)
        return self

    async def __call__(self, request: ApprovalRequest) -> str:
        """Answer one question."""
        self.requests.append(request)
        answer = self._answers.popleft() if self._answers else self._otherwise
        return answer if isinstance(answer, str) else answer(request)
