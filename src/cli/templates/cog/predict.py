"""A model for Cog. Its input and output are described by the types of `predict`."""

from cog import BasePredictor, ConcatenateIterator, Input


class Predictor(BasePredictor):
    def setup(self) -> None:
        """Once, before the first prediction: load weights here."""
        self.greeting = "Hello"

    def predict(
        self,
        name: str = Input(description="Who to greet", default="world"),
        times: int = Input(description="How often", default=3, ge=1, le=100),
    ) -> ConcatenateIterator[str]:
        """Once per prediction. What it yields is streamed; `-> str` would return one value."""
        for _ in range(times):
            yield f"{self.greeting}, {name}! "
