/** A name and what there is to say to it, as lists of facts have them. */
import type { Child } from "hono/jsx";

export const Detail = ({ name, children }: { name: string; children?: Child }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
