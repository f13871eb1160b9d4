/** The call as code samples; client code keeps them in step with the form. */
import { Copy } from "../ui/parts.tsx";
import type { CodeSample } from "./calls.ts";

export const Code = ({ calls }: { calls: CodeSample[] }) => (
  <>
    <p class="hint">
      These examples read an <a href="/tokens">access token</a> from the environment variable{" "}
      <code>AUSPEX_TOKEN</code>.
    </p>
    {calls.map(({ id, title, code }) => (
      <section data-call={id}>
        <h3>{title}</h3>
        <Copy lines text={code} />
      </section>
    ))}
  </>
);
