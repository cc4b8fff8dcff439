"""An approver that answers from a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

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
        self._answers: Iterator[str | Callable[[ApprovalRequest], str]] = iter(answers)
        self._otherwise = otherwise
        self.requests: list[ApprovalRequest] = []
        """What was asked, in order."""

    async def __call__(self, request: ApprovalRequest) -> str:
        """Answer one question."""
        self.requests.append(request)
        answer = next(self._answers, self._otherwise)
        return answer if isinstance(answer, str) else answer(request)
