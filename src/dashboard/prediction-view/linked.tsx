/** A text that is an address: the picture, sound or film there, or a link to it. */
import type { Linked } from "./output-kind.ts";

/** As client/parts/linked.ts makes it. */
export function Link({ found }: { found: Linked }) {
  switch (found.as) {
    case "image":
      return (
        <figure class="out media">
          <img src={found.address} alt={found.name} loading="lazy" />
        </figure>
      );
    case "audio":
    case "video": {
      const Media = found.as;
      return (
        <figure class="out media">
          <Media src={found.address} controls preload="metadata" aria-label={found.name} />
        </figure>
      );
    }
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
  }
}
