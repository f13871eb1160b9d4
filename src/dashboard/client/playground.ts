/** The playground's form, and the prediction beside it. Each run is a step of the browser's history. */
import { runAddress } from "../playground/run-address.ts";
import { enhance } from "./parts/enhance.ts";
import { leaveExample } from "./parts/leave-example.ts";
import { Playground, type Result } from "./parts/playground.ts";
import { requiredElement } from "./parts/playground-form.ts";
import { attachPrediction } from "./parts/prediction-view.ts";
import { RecentRuns } from "./parts/recent-runs.ts";

class PredictionResult implements Result {
  readonly #address: (id: string) => string;
  readonly #view: HTMLElement;
  #detach: () => void;
  #shown = predictionInAddress();
  readonly #runs: RecentRuns;

  constructor(root: HTMLElement) {
    const { playground = "", asForm } = root.dataset;
    this.#address = (id) => runAddress(playground, id, asForm !== undefined);
    this.#view = requiredElement(root, '[data-panel="output"]', HTMLElement);
    this.#detach = attachPrediction(this.#view);
    this.#runs = new RecentRuns(root);
    // The server shows a run with its input. Back to an anchor of the page is no other run.
    addEventListener("popstate", () => {
      if (predictionInAddress() !== this.#shown) location.reload();
    });
  }

  /** Shows a prediction as the server renders it, and keeps it live from there. */
  async open(id: string): Promise<void> {
    history.pushState(null, "", this.#address(id));
    this.#shown = id;
    const response = await fetch(`/predictions/${id}/view`);
    // A redirect means that the session has ended.
    if (!response.ok || response.redirected)
      throw new Error("The prediction is running but cannot be shown here. Reload the page.");
    leaveExample(document);
    this.#detach();
    this.#view.innerHTML = await response.text();
    enhance(this.#view);
    this.#detach = attachPrediction(this.#view);
    this.#runs.refreshSoon();
  }
}

function predictionInAddress(): string | null {
  return new URLSearchParams(location.search).get("prediction");
}

const root = document.querySelector<HTMLElement>("[data-playground]");
if (root) new Playground(root, new PredictionResult(root));
