/** What a model has put out, and what it was given: each as what it is. */
import { JsonTree } from "./json.tsx";
import { type Shown, shown } from "./shown.ts";

interface Place {
  /** Of the page: nothing is loaded from another. */
  host: string;
  /** Where all of it is, as JSON. */
  all: string;
}

/** As client/parts/output-view.ts makes it of what comes later. */
export function Value({ found, host, all }: Place & { found: Shown }) {
  switch (found.as) {
    case "text":
      return <div class="out text">{found.text}</div>;
    case "image":
      return (
        <figure class="out media">
          <img src={found.address} alt={found.name} loading="lazy" />
        </figure>
      );
    case "audio":
      return (
        <figure class="out media">
          {/* biome-ignore lint/a11y/useMediaCaption: no model makes captions */}
          <audio src={found.address} controls preload="metadata" aria-label={found.name} />
        </figure>
      );
    case "video":
      return (
        <figure class="out media">
          {/* biome-ignore lint/a11y/useMediaCaption: no model makes captions */}
          <video src={found.address} controls preload="metadata" aria-label={found.name} />
        </figure>
      );
    case "file":
      return (
        <p class="out">
          <a href={found.address}>{found.name}</a>
        </p>
      );
    case "link":
      return (
        <p class="out">
          <a href={found.address} rel="noopener noreferrer nofollow">
            {found.text}
          </a>
        </p>
      );
    case "list":
      return (
        <ul class="out list">
          {found.items.map((item) => (
            <li>
              <Value found={shown(item, host)} host={host} all={all} />
            </li>
          ))}
        </ul>
      );
    case "json":
      return (
        <div class="out">
          <JsonTree value={found.value} all={all} />
        </div>
      );
  }
}
