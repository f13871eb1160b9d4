/** The playground's form: reads and validates the input, and shows errors. */
import type { Field } from "../../../domain/schemas/input-form.ts";
import {
  fillForm,
  type Input,
  readForm,
  readJsonInput,
} from "../../../domain/schemas/input-form-values.ts";
import { fieldMessages, inputChecker } from "../../../domain/schemas/json-schema-validator.ts";
import { exactText } from "../../../lib/exact-json.ts";
import type { ValidationIssue } from "../../../protocol/common.ts";
import type { Compatibilities } from "../../../protocol/model.ts";
import { codeSamples, type SampleOptions } from "../../playground/code/samples.ts";
import { controlName, JSON_FIELD } from "../../playground/control-names.ts";
import { type CodeLanguage, codePieces } from "../../ui/highlight.ts";
import { element } from "./element.ts";

export type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export interface FormState {
  /** The input of the valid fields. */
  input: Input;
  /** Errors by control; null for errors that belong to none. */
  messages: Map<Control | null, string>;
}

/** The input with its numbers as doubles, against which schemas are checked. */
const plain = (input: Input): Input => JSON.parse(exactText(input));

export class PlaygroundForm {
  readonly element: HTMLFormElement;
  readonly raw: HTMLTextAreaElement;
  readonly #rawPanel: HTMLFieldSetElement;
  readonly #fields: Field[];
  readonly #controls: Control[];
  readonly #check: (input: Input) => ValidationIssue[];
  readonly #standIns: (control: Control) => string[];
  /** Controls that were used: errors of others are not shown yet. */
  readonly #touched = new Set<Control>();

  /** @param standIns addresses for files that are not uploaded yet */
  constructor(root: HTMLElement, standIns: (control: Control) => string[]) {
    const { fields = "[]", shape } = root.dataset;
    this.element = requiredElement(root, "#playground-form", HTMLFormElement);
    this.raw = requiredElement(root, `#${JSON_FIELD}`, HTMLTextAreaElement);
    this.#rawPanel = requiredElement(root, "[data-raw-panel]", HTMLFieldSetElement);
    this.#fields = JSON.parse(fields);
    this.#controls = this.#fields.map(({ kind }, n) => controlOf(root, controlName(kind, n)));
    this.#check = shape === undefined ? () => [] : inputChecker(JSON.parse(shape));
    this.#standIns = standIns;
    this.element.noValidate = true;
    for (const name of ["input", "focusout"]) this.element.addEventListener(name, this.#touch);
  }

  get isJson(): boolean {
    return !this.#rawPanel.disabled;
  }

  /** Disables the form. @returns enables it again */
  disable(): () => void {
    const disabled = [...this.element.elements].filter((one) => isControl(one) || isChooser(one));
    for (const control of disabled) control.disabled = true;
    return () => {
      for (const control of disabled) control.disabled = false;
    };
  }

  read(): FormState {
    if (this.isJson) return this.#readJson();
    const texts = this.#fields.map((field, n) => ({ ...field, text: this.#textOf(n) }));
    const { input, faults } = readForm(texts);
    const errors = new Map([...fieldMessages(this.#check(plain(input))), ...faults]);
    const byName = new Map(this.#fields.map(({ name }, n) => [name, this.#controls[n] ?? null]));
    const messages: FormState["messages"] = new Map();
    for (const [name, message] of errors) {
      const control = byName.get(name) ?? null;
      messages.set(control, control || !name ? message : `${name}: ${message}`);
    }
    return { input, messages };
  }

  /** Shows errors of used controls. @param everywhere also those of others */
  show({ messages }: FormState, everywhere = false): void {
    const controls = this.isJson ? [this.raw] : this.#controls;
    if (everywhere) for (const control of controls) this.#touched.add(control);
    for (const control of controls) {
      const message = this.#touched.has(control) ? messages.get(control) : undefined;
      if (message !== undefined) control.closest("details")?.toggleAttribute("open", true);
      if (setFieldError(control, message) && message && control === document.activeElement)
        this.announce(message);
    }
    if (!everywhere) return;
    this.showProblem(messages.get(null));
    controls.find((control) => messages.has(control))?.focus();
  }

  /**
   * Switches between fields and JSON, keeping the input.
   * @returns why it cannot switch, if so
   */
  switchMode(): string | undefined {
    if (!this.isJson) {
      this.raw.value = exactText(this.read().input, 2);
    } else {
      const read = readJsonInput(this.raw.value);
      const fault = "fault" in read ? read.fault : this.#fill(read.input);
      if (fault !== undefined) return fault;
    }
    for (const panel of this.element.querySelectorAll<HTMLFieldSetElement>(".playground-fields")) {
      panel.hidden = !panel.hidden;
      panel.disabled = panel.hidden;
    }
    return undefined;
  }

  /** Fills in an input as JSON text, such as what was typed before the page was left. */
  restore(json: string): void {
    this.raw.value = json;
    const read = readJsonInput(json);
    if (!this.isJson && !("fault" in read)) this.#fill(read.input);
  }

  /** @returns why the fields cannot show the input, if so */
  #fill(input: Input): string | undefined {
    const form = fillForm(this.#fields, input);
    if (!form) return "This JSON has values that the form has no field for.";
    const other = form.find(({ kind }, n) => kind !== this.#fields[n]?.kind);
    if (other) return `The form cannot show this value for '${other.name}'.`;
    for (const [n, { text }] of form.entries()) this.#setText(n, text);
    return undefined;
  }

  announce(message: string): void {
    requiredElement(this.element, "[data-announce]", HTMLElement).textContent = message;
  }

  /** @param message an error that belongs to no control; undefined to clear it */
  showProblem(message: string | undefined): void {
    const problem = requiredElement(this.element, "[data-form-problem]", HTMLElement);
    problem.hidden = message === undefined;
    problem.textContent = message ?? "";
  }

  #readJson(): FormState {
    const read = readJsonInput(this.raw.value);
    if ("fault" in read) return { input: {}, messages: new Map([[this.raw, read.fault]]) };
    const errors = [...fieldMessages(this.#check(plain(read.input)))];
    const text = errors
      .map(([name, message]) => (name ? `${name}: ${message}` : message))
      .join(". ");
    return { input: read.input, messages: new Map(text ? [[this.raw, text]] : []) };
  }

  #textOf(n: number): string {
    const control = this.#controls[n];
    if (!control) return "";
    if (isBox(control)) return textOf(control);
    return [control.value, ...this.#standIns(control)].filter(Boolean).join("\n");
  }

  #setText(n: number, text: string): void {
    const control = this.#controls[n];
    if (!control) return;
    if (isBox(control)) control.checked = text === "true";
    else control.value = text;
  }

  readonly #touch = ({ target }: Event): void => {
    if (isControl(target)) this.#touched.add(target);
  };
}

export const textOf = (control: Control): string =>
  isBox(control) ? (control.checked ? "true" : "") : control.value;

const isBox = (control: Control): control is HTMLInputElement =>
  control instanceof HTMLInputElement && control.type === "checkbox";

const isChooser = (one: Element): one is HTMLButtonElement =>
  one instanceof HTMLButtonElement && one.matches(".file-picker > button");

const isControl = (target: EventTarget | null): target is Control =>
  target instanceof HTMLInputElement ||
  target instanceof HTMLSelectElement ||
  target instanceof HTMLTextAreaElement;

function controlOf(root: HTMLElement, id: string): Control {
  const control = root.querySelector(`#${CSS.escape(id)}`);
  if (isControl(control)) return control;
  throw new Error(`no control ${id}`);
}

/** An element that the page always has. */
export function requiredElement<Kind extends HTMLElement>(
  root: ParentNode,
  selector: string,
  kind: new () => Kind,
): Kind {
  const match = root.querySelector(selector);
  if (match instanceof kind) return match;
  throw new Error(`no ${selector}`);
}

/** Sliders of number fields: each follows the other. */
export function attachSliders(root: HTMLElement): void {
  for (const slider of root.querySelectorAll<HTMLInputElement>("[data-slider]")) {
    const field = slider.parentElement?.querySelector<HTMLInputElement>("[name]");
    if (!field) continue;
    slider.hidden = false;
    slider.addEventListener("input", (event) => {
      // Listeners expect input events from the field.
      event.stopPropagation();
      field.value = slider.value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    const follow = () => {
      const isEmpty = field.value.trim() === "";
      // A slider always has a position: it is at its beginning, and shows none, while the field is empty.
      slider.toggleAttribute("data-unset", isEmpty);
      if (isEmpty) slider.value = slider.min;
      else if (Number.isFinite(Number(field.value))) slider.value = field.value;
    };
    field.addEventListener("input", follow);
    follow();
  }
}

/** @param message undefined for no error. @returns whether the message has changed */
export function setFieldError(control: HTMLElement, message: string | undefined): boolean {
  const id = `${control.id}-error`;
  const current = document.getElementById(id);
  if ((current?.textContent ?? undefined) === message) return false;
  const others = (control.getAttribute("aria-describedby") ?? "")
    .split(" ")
    .filter((one) => one && one !== id);
  current?.remove();
  if (message === undefined) {
    control.removeAttribute("aria-invalid");
  } else {
    const issue = element("p", "field-error", message);
    issue.id = id;
    control.closest(".field")?.append(issue);
    control.setAttribute("aria-invalid", "true");
    others.push(id);
  }
  if (others.length > 0) control.setAttribute("aria-describedby", others.join(" "));
  else control.removeAttribute("aria-describedby");
  return true;
}

const coloured = (code: string, language: CodeLanguage): (string | HTMLElement)[] =>
  codePieces(code, language).map(({ kind, text }) =>
    kind ? element("span", `code-${kind}`, text) : text,
  );

/** Shows the code of the call that the form would make. @param root has the model in its data */
export function showCode(root: HTMLElement, sent: Pick<SampleOptions, "input" | "inputs">): void {
  const {
    model = "",
    pinned,
    pinnedId: versionId,
    streams,
    compatibilities: flags = "{}",
  } = root.dataset;
  const compatibilities: Compatibilities = JSON.parse(flags);
  const version = pinned === undefined ? undefined : Number(pinned);
  const { input, inputs = {} } = sent;
  const run = {
    version,
    versionId,
    input,
    inputs,
    compatibilities,
    streams: streams !== undefined,
  };
  for (const { id, code, language } of codeSamples({ ...run, origin: location.origin, model })) {
    const sample = root.querySelector(`[data-call="${id}"] code`);
    if (sample && sample.textContent !== code) sample.replaceChildren(...coloured(code, language));
  }
}
