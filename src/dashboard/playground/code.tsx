/** The run as code: the same call for a shell and for programs. Client code keeps it up to what is typed. */
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
