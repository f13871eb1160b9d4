/** What a model has put out, and what it was given: each as what it is. */
import { JsonTree } from "./json.tsx";
import { Link } from "./linked.tsx";
import { isLinked, type OutputKind, outputKind } from "./output-kind.ts";

interface Place {
  /** Of the page: nothing is loaded from another. */
  host: string;
  /** Where all of it is, as JSON. */
  all: string;
}

/** As client/parts/output-view.ts makes it of what comes later. */
export function Value({ found, host, all }: Place & { found: OutputKind }) {
  if (isLinked(found)) return <Link found={found} />;
  switch (found.as) {
    case "text":
      return <div class="out text">{found.text}</div>;
    case "list":
      return (
        <ul class="out list">
          {found.items.map((item) => (
            <li>
              <Value found={outputKind(item, host)} host={host} all={all} />
            </li>
          ))}
        </ul>
      );
    case "json":
      return (
        <div class="out">
          <JsonTree value={found.value} host={host} all={all} />
        </div>
      );
  }
}
