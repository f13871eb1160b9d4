/** A new secret, shown once, and how its receiver verifies deliveries with it. */
import { Copy } from "../ui/parts.tsx";

export interface NewSecret {
  /** URL of the endpoint that the secret belongs to. */
  url: string;
  secret: string;
  /** Scheme and host of the deployment. */
  origin: string;
}

/** Kept as a file: what a deployment serves changes with its version. */
const installText = (origin: string) => `curl -fsSO ${origin}/auspex-webhooks.tgz
npm install ./auspex-webhooks.tgz`;

const EXAMPLE = `import { verifyWebhook } from "auspex-webhooks";

const event = await verifyWebhook(request, process.env.WEBHOOK_SECRET);
console.log(event.webhook.event, event.status, event.output);`;

export const SecretCreated = ({ created: { url, secret, origin } }: { created: NewSecret }) => (
  <section class="box new-secret" aria-labelledby="created-title">
    <h2 id="created-title">
      Secret for <bdi>{url}</bdi>
    </h2>
    <p>
      Copy it now and give it to the receiver. It signs deliveries, and will not be shown again.
    </p>
    <Copy text={secret} label="Copy secret" />
    <p>
      {"The receiver verifies each delivery with it ("}
      <a href="/docs/webhooks#verify-the-signature">in other languages</a>):
    </p>
    <Copy lines label="Copy commands" text={installText(origin)} />
    <Copy lines label="Copy code" text={EXAMPLE} />
  </section>
);
