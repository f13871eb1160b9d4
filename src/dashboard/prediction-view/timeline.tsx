import type { Step } from "../../domain/predictions/timeline.ts";
import type { TaskStatus } from "../../protocol/prediction.ts";
import { duration } from "../ui/duration.ts";
import { Time } from "../ui/parts.tsx";

const NAMES: Record<Exclude<Step["kind"], "failed">, string> = {
  created: "Created",
  queued: "Queued",
  setup: "Setup",
  started: "Running",
  output: "First output",
  done: "Done",
};

const ENDS: Partial<Record<TaskStatus, string>> = {
  succeeded: "Succeeded",
  failed: "Failed",
  canceled: "Canceled",
};

/** One line that opens. @param open whether it is open at first */
export const Timeline = ({
  steps,
  status,
  open,
}: {
  steps: Step[];
  status: TaskStatus;
  open: boolean;
}) => (
  <>
    <details open={open}>
      <summary class="hint numbers">
        <Brief steps={steps} />
      </summary>
      <ol class="timeline">
        {steps.map((step) => (
          <li class={step.state} aria-current={step.state === "current" ? "step" : undefined}>
            <span class="step">{nameOf(step, status)}</span>
            <span class="duration quiet small numbers">
              <StepTime step={step} />
            </span>
            <Phases step={step} />
          </li>
        ))}
      </ol>
    </details>
    {steps.map(
      ({ attempt }, n) => attempt && <EndedAttempt attempt={attempt} next={steps[n + 1]} />,
    )}
  </>
);

/** The steps that take time: each with its time, or with a clock while it goes on. */
function Brief({ steps }: { steps: Step[] }) {
  const shown = steps.filter(
    ({ kind, state, seconds }) =>
      BRIEF[kind] !== undefined && (state === "current" || (state === "past" && seconds !== null)),
  );
  if (shown.length === 0) return <>Timeline</>;
  return (
    <>
      {shown.map((step, n) => (
        <>
          {n > 0 && " · "}
          {BRIEF[step.kind]}{" "}
          {step.state === "current" ? (
            <span data-since={step.at}>…</span>
          ) : (
            duration(step.seconds ?? 0)
          )}
        </>
      ))}
    </>
  );
}

const BRIEF: Partial<Record<Step["kind"], string>> = {
  failed: "Lost",
  queued: "Queued",
  setup: "Setup",
  started: "Running",
  done: "Total",
};

const EndedAttempt = ({
  attempt: { number, reason },
  next,
}: {
  attempt: AttemptEnd;
  next: Step | undefined;
}) => (
  <p class="hint">
    {`The runner of attempt ${number} ${END_TEXT[reason]}`}
    {next?.state === "current" ? `. Attempt ${number + 1} is queued.` : "."}
  </p>
);

function nameOf({ kind, attempt }: Step, status: TaskStatus): string {
  if (kind === "failed") return `Attempt ${attempt?.number} (${attempt?.reason})`;
  return (kind === "done" && ENDS[status]) || NAMES[kind];
}

function StepTime({ step: { kind, state, at, seconds } }: { step: Step }) {
  if (kind === "created") return at === null ? <>–</> : <Time at={at} exact />;
  if (state === "ahead") return <>–</>;
  if (state === "current") return <span data-since={at}>…</span>;
  // The duration of an output that came in one report with the start is unknown.
  if (seconds === null) return <>{kind === "output" && at !== null ? "received" : "–"}</>;
  if (kind === "output") return <>{`after ${duration(seconds)}`}</>;
  return <>{kind === "done" ? `${duration(seconds)} in total` : duration(seconds)}</>;
}

const Phases = ({ step: { phases = [] } }: { step: Step }) =>
  phases.length === 0 ? null : (
    <small>
      {phases
        .map(({ phase, seconds }) => (seconds === null ? phase : `${phase} ${duration(seconds)}`))
        .join(", ")}
    </small>
  );

type AttemptEnd = NonNullable<Step["attempt"]>;

const END_TEXT: Record<AttemptEnd["reason"], string> = {
  lost: "was lost",
  returned: "returned the prediction",
};
