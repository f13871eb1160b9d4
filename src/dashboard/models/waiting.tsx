/** How many predictions of a model wait, why, and what would help. For its owner and for operators. */
import type { SomeReason } from "../../domain/scheduling/decide/explain-some.ts";
import { modelWaitText } from "../../domain/scheduling/model-wait-text.ts";
import { duration } from "../prediction-view/duration.ts";

interface Props {
  reasons: SomeReason[];
  isOperator: boolean;
}

export function Waiting({ reasons, isOperator }: Props) {
  const all = reasons.reduce((sum, { jobs }) => sum + jobs, 0);
  if (all === 0) return null;
  const longest = Date.now() - Math.min(...reasons.map(({ since }) => since));
  return (
    <div class="model-waiting">
      <p>
        <strong>{all === 1 ? "1 prediction waits" : `${all} predictions wait`}</strong>
        {`, ${all === 1 ? "for" : "the longest for"} ${duration(Math.max(0, longest) / 1_000)}.`}
        {reasons.length === 1 && <Why reasons={reasons} isOperator={isOperator} />}
        {isOperator && (
          <>
            {" "}
            <a href="/fleet">Fleet</a>
          </>
        )}
      </p>
      {reasons.length > 1 && (
        <ul>
          {reasons.map((reason) => (
            <li>
              {`${reason.jobs}:`}
              <Why reasons={[reason]} isOperator={isOperator} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const Why = ({ reasons, isOperator }: Props) => (
  <>{reasons.map((reason) => ` ${modelWaitText(reason, isOperator)}`)}</>
);
