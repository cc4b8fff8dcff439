"""Reading a project file with pydantic-settings: `CODEMODE_*` variables above the file.

Imported only where there is something to read: the library costs a tenth of a second at the start of every command.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from ._project import PREFIX
from ._project_file import ProjectFile


class _Reader(BaseSettings, ProjectFile):  # pyright: ignore[reportIncompatibleVariableOverride] (pydantic's own way)
    """A project file that is read when it is made."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, hide_input_in_errors=True
    )
    toml_path: ClassVar[Path | None] = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment, then the file; nothing else."""
        if cls.toml_path is None:
            return (env_settings,)
        return env_settings, TomlConfigSettingsSource(settings_cls, cls.toml_path)


def read_settings(file: Path | None) -> ProjectFile:
    """The settings of a file, or of the environment alone.

    Raises:
        ValidationError: they are wrong; other errors of reading come as they are.
    """
    # The source is a class attribute to pydantic-settings: a class of its own per file keeps reads apart.
    reader: type[_Reader] = type("ProjectFile", (_Reader,), {"toml_path": file, "__module__": __name__})
    return reader()
