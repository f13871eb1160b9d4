/** The input of a prediction, field by field. */
import { unmarked } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import type { PredictionView } from "../../services/predictions/prediction-view.ts";
import { InputValue } from "../prediction-view/input-value.tsx";
import { isUrlKind, outputOf } from "../prediction-view/output-kind.ts";

export function Input({ view, host }: { view: PredictionView; host: string }) {
  const { displayInput: input, dataRemoved, prediction } = view;
  const all = `/predictions/${prediction.id}/json`;
  if (dataRemoved) return <p class="hint">The input was removed.</p>;
  if (input === undefined)
    return (
      <p class="hint">
        {"The input is too large to show here. "}
        <a href={all}>View full JSON</a>
      </p>
    );
  const fields = typeof input === "object" && input !== null ? Object.entries(input) : [];
  if (fields.length === 0) return <p class="hint">Empty: all fields used their defaults.</p>;
  return (
    <dl class="input">
      {fields.map(([name, value]) => {
        const scrolls = !isUrlKind(outputOf(value, host)) && isLong(value);
        return (
          <>
            <dt>{unmarked(name)}</dt>
            <dd {...(scrolls && { class: "long", tabindex: 0 })}>
              <InputValue value={value} host={host} all={all} />
            </dd>
          </>
        );
      })}
    </dl>
  );
}

/** Some 13 lines are seen at once, and the rest scrolls: it must be reachable with the keyboard. */
function isLong(value: Json): boolean {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 800 || text.split("\n").length > 12;
}
