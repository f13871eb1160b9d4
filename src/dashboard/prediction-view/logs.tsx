/** The last lines that the container and the model logged. */
import type { PredictionView } from "../../services/predictions/prediction-view.ts";
import { logNote } from "./log-note.ts";

export const Logs = ({
  view: { logs, live, dataRemoved, prediction },
}: {
  view: PredictionView;
}) => (
  <details class="prediction-logs" open={live || prediction.status === "failed"}>
    <summary>Logs</summary>
    <p class="hint" data-logs-hidden hidden={logs.hidden === 0 && !logs.torn}>
      {logNote(logs.hidden, logs.torn)}
    </p>
    <pre
      tabindex={0}
      data-logs
      data-hidden={logs.hidden}
      data-torn={logs.torn ? "true" : undefined}
      data-returned={logs.returned ? "true" : undefined}
    >
      {/* The HTML parser drops a leading line break. */}
      {`\n${logs.text}`}
    </pre>
    {!dataRemoved && <p class="hint empty-note">No logs.</p>}
  </details>
);
