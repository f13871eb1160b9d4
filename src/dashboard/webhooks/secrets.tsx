/** The secrets of an endpoint, and the steps in which one is replaced. */
import type { WebhookEndpoint } from "../../protocol/webhook.ts";
import { MAX_SECRETS } from "../../services/webhooks/endpoints.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Time } from "../ui/parts.tsx";
import { LIST } from "./list.tsx";

export function Secrets({ endpoint: { id, secrets } }: { endpoint: WebhookEndpoint }) {
  const address = `${LIST}/${id}/secrets`;
  return (
    <>
      <h2>Secrets</h2>
      <p>To replace the secret without losing a delivery:</p>
      <ol>
        <li>Create a new secret. From then on, each delivery is signed with both.</li>
        <li>Give it to the receiver.</li>
        <li>Delete the old one.</li>
      </ol>
      <ul class="rows">
        {secrets.map((secret, n) => (
          <li>
            <div>
              {secrets.length > 1 && `Secret ${n + 1}, `}
              {secrets.length > 1 ? "created" : "Created"} <Time at={secret.created_at} />
            </div>
            {secrets.length > 1 && (
              <Form
                action={`${address}/${secret.id}/delete`}
                data-confirm="Delete this secret? A receiver that knows no other one refuses deliveries from then on."
              >
                <button type="submit" class="danger">
                  {`Delete secret ${n + 1}`}
                </button>
              </Form>
            )}
          </li>
        ))}
      </ul>
      {secrets.length < MAX_SECRETS ? (
        <Form action={address}>
          <Submit kind="quiet">Create a new secret</Submit>
        </Form>
      ) : (
        <p class="hint">{`An endpoint can have ${MAX_SECRETS}. Delete one that its receiver no longer uses.`}</p>
      )}
    </>
  );
}
