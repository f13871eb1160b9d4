/** The form for a new token, and the new token, shown once. */
import { type PropsWithChildren, useContext } from "hono/jsx";

import { invalid } from "../../domain/schemas/validation.ts";
import type { Scope } from "../../protocol/operator.ts";
import { type Draft, fieldText, fieldTexts } from "../form.ts";
import { Choices, DraftContext, Select, Submit, TextArea, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy } from "../ui/parts.tsx";
import { NewLimits, readLimits } from "./limits.tsx";

/** @param children further fields, before the button */
export const NewToken = ({
  draft,
  models,
  action = "/tokens",
  operator = false,
  children,
}: PropsWithChildren<{
  draft: Draft;
  models: string[];
  action?: string;
  /** Whether the token may have the scope `operator`. */
  operator?: boolean;
}>) => (
  <Form action={action} class="narrow" id="new-token" draft={draft}>
    <TextField
      name="name"
      label="Name"
      hint="A label to recognize it by."
      maxlength={100}
      autocomplete="off"
      required
    />
    <Choices
      name="scopes"
      label="Scopes"
      values={USUAL_SCOPES}
      options={operator ? [...SCOPES, ...OPERATOR_CHOICES] : SCOPES}
    />
    <Select name="expires" label="Expires" value={DEFAULT_EXPIRY} required options={EXPIRIES} />
    <div class="date-field">
      <TextField
        name="expires_at"
        label="Last day"
        hint="Expires at the end of this day (UTC)."
        type="date"
        required
        mayHide
      />
    </div>
    <Choices one name="models_for" label="Models" values={["all"]} options={MODEL_CHOICES} />
    <div class="models-field">
      <Models models={models} />
    </div>
    <Select
      name="priority"
      label="Priority"
      hint="Highest queue priority this token can request."
      value=""
      options={PRIORITY_CHOICES}
    />
    {children}
    <NewLimits />
    <Submit>Create token</Submit>
  </Form>
);

/** The text area comes first: a rejected form refills the first field of a name. */
const Models = ({ models }: { models: string[] }) => (
  <>
    <TextArea
      name="models"
      label="Selected models"
      hint={
        <>
          One <code>owner/name</code> per line, <a href="/models">yours or others'</a>. The token
          cannot use other models or read their predictions.
        </>
      }
      rows={3}
      class="mono"
    />
    {models.length > 0 && <OwnModels models={models} />}
  </>
);

function OwnModels({ models }: { models: string[] }) {
  const ticked = useContext(DraftContext).values?.getAll("models") ?? [];
  return (
    <fieldset class="field choices own-models">
      <legend>Yours</legend>
      {models.map((model) => (
        <label class="choice">
          <input type="checkbox" name="models" value={model} checked={ticked.includes(model)} />
          <span>{model}</span>
        </label>
      ))}
    </fieldset>
  );
}

export interface CreatedToken {
  token: string;
  name: string;
  url: string;
}

export const TokenCreated = ({ created: { token, name, url } }: { created: CreatedToken }) => (
  <section class="panel new-secret" aria-labelledby="created-title">
    <h2 id="created-title">Your new token: {name}</h2>
    <p>Copy it now and keep it secret. It will not be shown again.</p>
    <Copy text={token} label="Copy token" />
    <p>Try it:</p>
    <Copy
      lines
      label="Copy commands"
      text={`export AUSPEX_TOKEN=${token}\ncurl ${url} -H "Authorization: Bearer $AUSPEX_TOKEN"`}
    />
  </section>
);

const DAY_MS = 86_400_000;

export const SCOPES: { value: Scope; label: string; hint: string }[] = [
  {
    value: "predict",
    label: "predict",
    hint: "Run models, cancel predictions, upload input files.",
  },
  {
    value: "read",
    label: "read",
    hint: "Read your predictions, private models and profile.",
  },
  { value: "write", label: "write", hint: "Change your models, versions and profile." },
];

const OPERATOR_CHOICES: typeof SCOPES = [
  {
    value: "operator",
    label: "operator",
    hint: "Manage this deployment, while you are an operator. For all models only.",
  },
  {
    value: "metrics",
    label: "metrics",
    hint: "Read /metrics, while you are an operator. For all models only.",
  },
];

/** Enough for most programs. */
const USUAL_SCOPES: Scope[] = ["predict", "read"];

const EXPIRIES = [
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "On a date" },
  { value: "never", label: "Never" },
];

const DEFAULT_EXPIRY = "90";

const PRIORITY_CHOICES = [
  { value: "", label: "Any" },
  { value: "high", label: "High" },
  { value: "normal", label: "Normal" },
  { value: "low", label: "Low" },
];

/** Returns the request, to be validated with the API's schema. @throws ValidationFailure */
export const readTokenForm = (form: FormData, now: number) => ({
  name: fieldText(form, "name").trim(),
  scopes: fieldTexts(form, "scopes"),
  models: readModels(form),
  priority: fieldText(form, "priority") || null,
  expires_at: readExpiry(form, now),
  limits: readLimits(form),
});

const MODEL_CHOICES = [
  { value: "all", label: "All models", hint: "Yours and others', including future ones." },
  { value: "some", label: "Only specific models" },
];

/** Selected and typed models; null for all, which must be chosen explicitly. */
function readModels(form: FormData): string[] | null {
  const chosen = fieldText(form, "models_for");
  if (chosen === "all") return null;
  if (chosen !== "some")
    throw invalid(["body", "models_for"], "Choose which models the token can use.");
  const names = fieldTexts(form, "models").flatMap((text) => text.split(/[\s,]+/).filter(Boolean));
  if (names.length === 0)
    throw invalid(["body", "models"], "Enter a model, or select one of yours.");
  return [...new Set(names)];
}

/** The token is valid until the end of the chosen day. */
function readExpiry(form: FormData, now: number): string | null {
  const chosen = fieldText(form, "expires");
  if (chosen === "never") return null;
  if (chosen !== "date") return new Date(now + readDays(chosen) * DAY_MS).toISOString();
  const day = fieldText(form, "expires_at");
  if (day === "") throw invalid(["body", "expires_at"], "Choose a date.");
  return `${day}T23:59:59Z`;
}

function readDays(chosen: string): number {
  const days = EXPIRIES.some(({ value }) => value === chosen) ? Number(chosen) : Number.NaN;
  if (Number.isNaN(days)) throw invalid(["body", "expires"], "Choose when the token expires.");
  return days;
}
