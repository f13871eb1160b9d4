/** What the documentation has on some words. */
import type { Manifest } from "../../../protocol/assets.ts";
import { SEARCH } from "../contents.ts";
import { DocsLayout } from "../layout.tsx";
import type { Found } from "./find.ts";

interface Props {
  query: string;
  found: Found[];
  assets: Manifest;
}

export const SearchPage = ({ query, found, assets }: Props) => (
  <DocsLayout
    title={query === "" ? "Search" : `Search: ${query}`}
    description="Search the guides and the API reference."
    path={SEARCH}
    query={query}
    assets={assets}
  >
    <h1>{query === "" ? "Search" : `Search for “${query}”`}</h1>
    {query !== "" && found.length === 0 && (
      <p>Nothing has all of these words. Try fewer of them, or the beginning of a word.</p>
    )}
    <ol class="found">
      {found.map(({ path, id, page, title, excerpt }) => (
        <li>
          <a href={id === "" ? path : `${path}#${id}`}>{title}</a> <span class="where">{page}</span>
          <p>{excerpt}</p>
        </li>
      ))}
    </ol>
  </DocsLayout>
);
