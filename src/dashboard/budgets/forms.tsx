/** The forms of budgets, and the pages that have one. */
import { type Budget, createBudget, updateBudget } from "../../protocol/budget.ts";
import { parse } from "../../routes/router.ts";
import { type Draft, emptyDraft, fieldText, pickFields } from "../form.ts";
import { Choices, Select, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { useCurrency } from "../ui/parts.tsx";
import { BudgetBar, whoseOf } from "./list.tsx";

const WINDOWS = [
  { value: "day", label: "Each day" },
  { value: "week", label: "Each week" },
  { value: "month", label: "Each month" },
  { value: "total", label: "In total" },
];

const KINDS = [
  {
    value: "hard",
    label: "Hard limit",
    hint: "Refuses predictions that could exceed it, and stops those that would.",
  },
  { value: "alert", label: "Alert only", hint: "Refuses nothing." },
];

const Limit = ({ value = "" }: { value?: string }) => (
  <TextField
    name="limit"
    label={`Limit (${useCurrency()})`}
    value={value}
    placeholder="50.00"
    autocomplete="off"
    required
  />
);

/** @param alertAt a share of the limit */
const Rules = ({ kind = "hard", alertAt = 0.8 }: { kind?: string; alertAt?: number }) => (
  <>
    <Choices one name="kind" label="Kind" values={[kind]} options={KINDS} />
    <TextField
      name="alert_at"
      label="Alert at"
      hint="Percent of the limit."
      type="number"
      min="1"
      max="100"
      value={String(Math.round(alertAt * 100))}
      required
    />
  </>
);

/** The subject of a new budget. Without a member and a token, it is the account. */
export interface Subject {
  member?: string;
  token_id?: string;
}

export const NewBudget = ({
  subject = {},
  at = "/account/budgets",
  draft = emptyDraft,
}: {
  subject?: Subject;
  at?: string;
  draft?: Draft;
}) => (
  <Form action={at} class="narrow" draft={draft}>
    {Object.entries(subject).map(([name, value]) => (
      <input type="hidden" name={name} value={value} />
    ))}
    <Limit />
    <Select
      name="window"
      label="Window"
      hint="Begins at midnight UTC, on Monday, or on the first of the month."
      value="month"
      required
      options={WINDOWS}
    />
    <Rules />
    <Submit>Create budget</Submit>
  </Form>
);

const shareIn = (form: FormData) => Number(fieldText(form, "alert_at")) / 100;

/** @throws ValidationFailure */
export const readNewBudget = (form: FormData, subject: Subject) =>
  parse(
    createBudget,
    { ...pickFields(form, "limit", "window", "kind"), alert_at: shareIn(form), ...subject },
    "body",
  );

/** @throws ValidationFailure */
export const readBudget = (form: FormData) =>
  parse(updateBudget, { ...pickFields(form, "limit", "kind"), alert_at: shareIn(form) }, "body");

export const NewBudgetPage = ({
  subject,
  at,
  draft,
}: {
  subject: Subject;
  at: string;
  draft: Draft;
}) => (
  <>
    <h1>New budget</h1>
    <p>
      {subject.member !== undefined ? (
        <>
          For the runs of <bdi>{subject.member}</bdi>.
        </>
      ) : subject.token_id !== undefined ? (
        "For the runs of an access token."
      ) : (
        "For all runs of the account."
      )}{" "}
      <a href="/docs/costs#budgets">About budgets</a>
    </p>
    <NewBudget {...{ subject, at, draft }} />
  </>
);

export const BudgetPage = ({
  budget,
  at,
  isOpen,
  draft,
}: {
  budget: Budget;
  at: string;
  /** Whether the viewer may change it. */
  isOpen: boolean;
  draft: Draft;
}) => (
  <>
    <h1>
      Budget: <bdi>{whoseOf(budget)}</bdi>
    </h1>
    <BudgetBar budget={budget} />
    {isOpen ? (
      <>
        <Form action={`${at}/${budget.id}`} class="narrow spaced" draft={draft}>
          <Limit value={budget.limit} />
          <Rules kind={budget.kind} alertAt={budget.alert_at} />
          <Submit>Save</Submit>
        </Form>
        <Form
          action={`${at}/${budget.id}/delete`}
          data-confirm="Delete this budget? Predictions are no longer limited by it within 10 seconds."
        >
          <Submit kind="danger">Delete budget</Submit>
        </Form>
      </>
    ) : (
      <p class="hint">{`Only ${budget.set_by === "operator" ? "an operator" : "an owner or admin"} can change it.`}</p>
    )}
  </>
);
