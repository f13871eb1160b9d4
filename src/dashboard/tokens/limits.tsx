/** The limits of an access token: the fields of its form, and the page that changes them. */
import { useContext } from "hono/jsx";
import type { Token } from "../../protocol/operator.ts";
import { ENDPOINTS, type TokenLimits } from "../../protocol/token-limits.ts";
import { ofToken, type ShownBudgets } from "../budgets/read.ts";
import { Budgets } from "../budgets/section.tsx";
import { type Draft, fieldText, fieldTexts } from "../form.ts";
import { Choices, DraftContext, Submit, TextArea, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";

const NUMBERS = [
  ["requests_per_minute", "Requests per minute", "Approximate: bursts can exceed it."],
  ["predictions_per_minute", "Predictions per minute", "Approximate: bursts can exceed it."],
  ["max_running", "Predictions at a time", "Queued or running."],
] as const;

export const LimitFields = ({ limits }: { limits: TokenLimits | null }) => (
  <>
    {NUMBERS.map(([name, label, hint]) => (
      <TextField
        name={name}
        label={label}
        hint={`${hint} Empty for no limit.`}
        type="number"
        min="1"
        value={String(limits?.[name] ?? "")}
      />
    ))}
    <Choices
      name="endpoints"
      label="Endpoints"
      hint="None selected: all of them."
      values={limits?.endpoints ?? []}
      options={ENDPOINTS.map((value) => ({ value, label: value, hint: WHICH[value] }))}
    />
    <TextArea
      name="origins"
      label="Web pages"
      hint={
        <>
          One origin per line, such as <code>https://app.example.com</code>. The token then works
          only in browsers, on these pages.
        </>
      }
      rows={2}
      class="mono"
      value={limits?.origins?.join("\n") ?? ""}
    />
    <TextArea
      name="networks"
      label="Networks"
      hint={
        <>
          One per line, such as <code>203.0.113.0/24</code>. The token then works only from there.
        </>
      }
      rows={2}
      class="mono"
      value={limits?.networks?.join("\n") ?? ""}
    />
  </>
);

const WHICH: Record<(typeof ENDPOINTS)[number], string> = {
  predictions: "Create, read and cancel predictions.",
  openai: "The API for OpenAI's clients.",
  anthropic: "The API for Anthropic's clients.",
  replicate: "The API for Replicate's clients.",
  files: "Upload and download files.",
  models: "Find, read and change models.",
  registry: "Push and pull images.",
};

/** The fields in the form for a new token, which show after a click or when one of them was sent. */
export function NewLimits() {
  const { values } = useContext(DraftContext);
  return (
    <details class="spaced" open={values && readLimits(values) !== null}>
      <summary>Limits</summary>
      <LimitFields limits={null} />
    </details>
  );
}

/** Returns the limits that are set, to be validated with the API's schema; null for none. */
export function readLimits(form: FormData): Record<string, unknown> | null {
  const numbers = NUMBERS.map(([name]) => [name, fieldText(form, name).trim()] as const)
    .filter(([, text]) => text !== "")
    .map(([name, text]) => [name, Number(text)] as const);
  const linesOf = (name: string) =>
    fieldTexts(form, name)
      .flatMap((text) => text.split(/[\s,]+/))
      .filter(Boolean);
  const lists = ["endpoints", "origins", "networks"]
    .map((name) => [name, linesOf(name)] as const)
    .filter(([, lines]) => lines.length > 0);
  const limits = Object.fromEntries<unknown>([...numbers, ...lists]);
  return Object.keys(limits).length > 0 ? limits : null;
}

/** @param at the address of the list of tokens */
export const LimitsPage = ({
  token,
  at,
  budgets,
  draft,
}: {
  token: Token;
  at: string;
  budgets: ShownBudgets;
  draft: Draft;
}) => (
  <>
    <h1>
      Limits of <bdi>{token.name}</bdi>
    </h1>
    <p>
      Changes take effect within 10 seconds. <a href={at}>All access tokens</a>
    </p>
    <Form action={`${at}/${token.id}`} class="narrow" draft={draft}>
      <LimitFields limits={token.limits} />
      <Submit>Save</Submit>
    </Form>
    <Budgets {...ofToken(budgets, token.id)} subject={{ token_id: token.id }} />
  </>
);

const shown = (limits: TokenLimits): string[] => [
  ...NUMBERS.filter(([name]) => limits[name] !== undefined).map(
    ([name, label]) => `${limits[name]} ${label.toLowerCase()}`,
  ),
  ...[limits.endpoints, limits.origins, limits.networks]
    .filter((list) => list !== undefined)
    .map((list) => `only ${list.join(", ")}`),
];

/** Limits as a list of tokens shows them. */
export const ShownLimits = ({ limits }: { limits: TokenLimits | null }) =>
  limits && shown(limits).map((text) => <small>{text}</small>);
