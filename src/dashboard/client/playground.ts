/** The playground's form, and the prediction beside it. */
import { inAccount } from "./parts/element.ts";
import { enhance } from "./parts/enhance.ts";
import { Playground, type Result } from "./parts/playground.ts";
import { requiredElement } from "./parts/playground-form.ts";
import { attachPrediction } from "./parts/prediction-view.ts";
import { RecentRuns } from "./parts/recent-runs.ts";
import { leaveExample, RunSteps } from "./parts/run-steps.ts";

class PredictionResult implements Result {
  readonly #steps: RunSteps;
  readonly #view: HTMLElement;
  #detach: () => void;
  readonly #runs: RecentRuns;

  constructor(root: HTMLElement) {
    this.#steps = new RunSteps(root);
    this.#view = requiredElement(root, '[data-panel="output"]', HTMLElement);
    this.#detach = attachPrediction(this.#view);
    this.#runs = new RecentRuns(root);
  }

  /** Shows a prediction as the server renders it, and keeps it live from there. */
  async open(id: string): Promise<void> {
    this.#steps.begin(id);
    const html = await viewOf(id);
    leaveExample(document);
    this.#detach();
    this.#view.innerHTML = html;
    enhance(this.#view);
    this.#detach = attachPrediction(this.#view);
    this.#runs.refreshSoon();
  }
}

/** The page has the address of the prediction by then, so a reload shows it. */
const UNSEEN = "The prediction is running, but cannot be shown here. Reload the page to see it.";
const TRIES_MS = [0, 500, 1_000, 2_000];

/** @throws Error whose message can be shown */
async function viewOf(id: string): Promise<string> {
  for (const wait of TRIES_MS) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    const response = await fetch(inAccount(`/predictions/${id}/view`)).catch(() => undefined);
    // A redirect means that the session has ended.
    if (response?.redirected) break;
    const html = response?.ok ? await response.text().catch(() => undefined) : undefined;
    if (html !== undefined) return html;
  }
  throw new Error(UNSEEN);
}

const root = document.querySelector<HTMLElement>("[data-playground]");
if (root) new Playground(root, new PredictionResult(root));
