/** The state of an endpoint: delivering, failing or disabled, and who disabled it. */
import type { WebhookEndpoint } from "../../protocol/webhook.ts";
import { Time } from "../ui/parts.tsx";

export const EndpointStatus = ({
  endpoint: { enabled, failing_since },
}: {
  endpoint: WebhookEndpoint;
}) => {
  if (!enabled) return <span class="status draining">disabled</span>;
  return failing_since === null ? (
    <span class="status ready">enabled</span>
  ) : (
    <span class="status failed">failing</span>
  );
};

/** Failures of an endpoint; nothing if it has none. */
export function EndpointTrouble({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { enabled, failing_since, last_error, notice } = endpoint;
  const error = last_error !== null && (
    <>
      {" Last error: "}
      <bdi>{last_error}</bdi>.
    </>
  );
  // One answer is enough for that.
  if (notice !== null && last_error?.startsWith("responded with status 410"))
    return (
      <p class="trouble">
        Auspex has disabled it, because it responded with 410: it says that it is gone for good. If
        it is not, enable it again; otherwise delete it.
      </p>
    );
  if (notice !== null)
    return (
      <p class="trouble">
        {"Auspex has disabled it: "}
        {failing_since === null ? (
          "deliveries failed."
        ) : (
          <>
            deliveries have failed since <Time at={failing_since} />.
          </>
        )}
        {error} Once the receiver works, enable it again.
      </p>
    );
  if (!enabled)
    return (
      <p class="hint">
        Disabled: no events are sent to it. Deliveries that wait are tried again for 24 hours, in
        case you enable it.
      </p>
    );
  if (failing_since === null) return null;
  return (
    <p class="trouble">
      All deliveries have failed since <Time at={failing_since} />.{error} They are retried for 24
      hours.
    </p>
  );
}
