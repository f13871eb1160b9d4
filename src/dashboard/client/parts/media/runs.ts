/** The runs of a view of pictures or sounds, newest first; this tab keeps which they are. */
import type { Input } from "../../../../domain/schemas/input-form-values.ts";
import { type KnownField, labelOf } from "../../../playground/runs/label.ts";
import { leaveExample } from "../leave-example.ts";
import type { Result } from "../playground.ts";
import { requiredElement } from "../playground-form.ts";
import { RecentRuns } from "../recent-runs.ts";
import { RunSteps } from "../run-steps.ts";
import { attachZoom } from "../zoom.ts";
import { RunCard } from "./run-card.ts";

/** Older ones are found among the predictions. */
const MAX_RUNS = 12;

interface Kept {
  id: string;
  label: string;
}

export class MediaRuns implements Result {
  readonly #list: HTMLElement;
  readonly #empty: HTMLElement;
  readonly #status: HTMLElement;
  readonly #key: string;
  readonly #recent: RecentRuns;
  readonly #steps: RunSteps;
  readonly #useAsInput: ((address: string) => void) | undefined;
  readonly #fields: KnownField[];
  #runs: { kept: Kept; card: RunCard }[] = [];

  constructor(root: HTMLElement, useAsInput: ((address: string) => void) | undefined) {
    this.#list = requiredElement(root, "[data-runs]", HTMLElement);
    this.#empty = requiredElement(root, "[data-no-runs]", HTMLElement);
    this.#status = requiredElement(root, "[data-announce-result]", HTMLElement);
    this.#useAsInput = useAsInput;
    this.#recent = new RecentRuns(root);
    this.#steps = new RunSteps(root);
    attachZoom(this.#list);
    const { user, model, fields = "[]" } = root.dataset;
    this.#fields = JSON.parse(fields);
    this.#key = `auspex.runs.1:${user}:${model}`;
    const { opened, label = "" } = this.#list.dataset;
    const others = readKept(sessionStorage.getItem(this.#key)).filter(({ id }) => id !== opened);
    for (const kept of others.toReversed()) this.#add(kept);
    if (opened !== undefined) this.#add({ id: opened, label });
  }

  async open(id: string, input: Input): Promise<void> {
    this.#steps.begin(id);
    this.#status.textContent = "The model runs.";
    leaveExample(document);
    this.#add({ id, label: labelOf(input, this.#fields) });
    this.#keep();
    this.#recent.refreshSoon();
  }

  #add(kept: Kept): void {
    const { id, label } = kept;
    const card = new RunCard({
      id,
      label,
      useAsInput: this.#useAsInput,
      onStatus: (status) => this.#recent.say(id, status),
      onEnd: (message) => {
        this.#status.textContent = message;
      },
    });
    this.#runs.unshift({ kept, card });
    this.#list.prepend(card.root);
    this.#empty.hidden = true;
    for (const { card: old } of this.#runs.splice(MAX_RUNS)) {
      old.close();
      old.root.remove();
    }
  }

  #keep(): void {
    try {
      sessionStorage.setItem(this.#key, JSON.stringify(this.#runs.map(({ kept }) => kept)));
    } catch {
      // Full, or not allowed: then it is not kept.
    }
  }
}

function readKept(text: string | null): Kept[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.filter(isKept).slice(0, MAX_RUNS) : [];
  } catch {
    return [];
  }
}

const isKept = (one: unknown): one is Kept =>
  typeof one === "object" &&
  one !== null &&
  "id" in one &&
  typeof one.id === "string" &&
  /^[\w-]+$/.test(one.id) &&
  "label" in one &&
  typeof one.label === "string";
