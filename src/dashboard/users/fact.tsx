/** A named fact, of a list that stands in a row. */
import type { PropsWithChildren } from "hono/jsx";

export const Fact = ({ name, children }: PropsWithChildren<{ name: string }>) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
