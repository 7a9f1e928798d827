"""mem0 as a library in this process, without a language model (`infer=False`)."""

import os
from dataclasses import dataclass
from importlib import metadata

import servers
from systems import Setting

USER = "bench"


@dataclass
class Mem0:
    """The open memory. Its clients are the threads that use it: there is no server."""

    setting: Setting
    library: object

    def client(self) -> "Client":
        return Client(self.library)

    def count(self) -> int:
        return len(self.library.get_all(filters={"user_id": USER}, top_k=1_000_000)["results"])

    def memory(self) -> dict:
        return {"rss_mb": servers.megabytes(os.getpid(), "Rss"), "helpers_mb": 0.0}

    def version(self) -> str:
        return metadata.version("mem0ai")

    def stop(self) -> None:
        self.library.close()
        close_store = getattr(getattr(self.library.vector_store, "client", None), "close", None)
        if close_store:
            # Qdrant's folder stays locked otherwise.
            close_store()


class Client:
    """`add` and `search`."""

    def __init__(self, library) -> None:
        self._library = library

    def write(self, text: str) -> None:
        if not self._library.add(text, user_id=USER, infer=False)["results"]:
            raise RuntimeError("nothing was added")

    def search(self, question: str, wanted: int) -> list[str]:
        found = self._library.search(question, top_k=wanted, filters={"user_id": USER})
        return [result["memory"] for result in found["results"]]

    def close(self) -> None:
        pass


def start(setting: Setting) -> Mem0:
    os.environ |= {"MEM0_DIR": str(setting.place), "MEM0_TELEMETRY": "False", **servers.OFFLINE}
    # Read when the library is imported, so not before.
    from mem0 import Memory

    store = {
        "collection_name": "bench",
        "path": str(setting.place / "vectors"),
        "embedding_model_dims": setting.dimensions,
    }
    stores = {
        "qdrant": {"provider": "qdrant", "config": {**store, "on_disk": True}},
        "faiss": {"provider": "faiss", "config": {**store, "distance_strategy": "cosine"}},
    }
    embedder = {
        "model": setting.model,
        "openai_base_url": setting.endpoint,
        "api_key": "none",
        "embedding_dims": setting.dimensions,
    }
    configuration = {
        "vector_store": stores[setting.variant],
        "embedder": {"provider": "openai", "config": embedder},
        # Never asked: `infer=False`.
        "llm": {"provider": "openai", "config": {"api_key": "none"}},
        "history_db_path": str(setting.place / "history.db"),
    }
    return Mem0(setting, Memory.from_config(configuration))
