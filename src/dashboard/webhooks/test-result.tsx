/** How the receiver has answered a test. */
import type { WebhookTest } from "../../protocol/webhook.ts";

export const TestResult = ({ test }: { test: WebhookTest }) => (
  <section class="test-result" aria-labelledby="test-title">
    <h2 id="test-title">Test</h2>
    <p role="status">
      {test.delivered ? (
        <span class="status succeeded">{`delivered: ${test.status}`}</span>
      ) : (
        <span class="status failed">{`failed: ${test.status ?? "no response"}`}</span>
      )}
      {` after ${test.duration_ms ?? 0} ms`}
      {test.error !== null && (
        <>
          : <bdi>{test.error}</bdi>
        </>
      )}
      .
    </p>
    {test.response !== null && (
      <pre class="response" tabindex={0}>
        <bdi>{test.response}</bdi>
      </pre>
    )}
  </section>
);
