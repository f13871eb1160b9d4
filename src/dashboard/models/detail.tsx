/** An entry of a description list. */
import type { Child } from "hono/jsx";

export const Detail = ({ name, children }: { name: string; children?: Child }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
