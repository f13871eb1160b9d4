/** The frame of each page of the documentation. It is the same for everyone: no session is read. */
import type { Child, PropsWithChildren } from "hono/jsx";
import { ICON } from "../ui/icon.ts";
import { NAVIGATION, REFERENCE, STYLESHEET } from "./contents.ts";

interface Props {
  title: string;
  description: string;
  /** The path of this page. */
  path: string;
  scripts?: (string | undefined)[];
  /** More navigation, below the list of pages. */
  navigation?: Child;
}

export const DocsLayout = ({
  title,
  description,
  path,
  scripts = [],
  navigation,
  children,
}: PropsWithChildren<Props>) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{`${title} · Auspex`}</title>
      <meta name="description" content={description} />
      <link rel="icon" href={ICON} />
      <link rel="stylesheet" href={STYLESHEET} />
      {scripts.map((src) => (
        <script type="module" src={src} />
      ))}
    </head>
    <body>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header>
        <p class="title">
          <a href="/">Auspex</a> <a href={REFERENCE}>Docs</a>
        </p>
        <p>
          <a href="/">Dashboard</a>
        </p>
      </header>
      <div class="columns">
        <div class="sidebar">
          <Pages path={path} />
          {navigation}
        </div>
        <main id="main" tabindex={-1}>
          {children}
        </main>
      </div>
    </body>
  </html>
);

/** Folded on narrow screens. */
const Pages = ({ path }: { path: string }) => (
  <nav aria-label="Documentation" class="pages">
    <details class="fold">
      <summary>Guides and reference</summary>
      <ul>
        {NAVIGATION.map(({ title, pages }) => (
          <li>
            <span class="group">{title}</span>
            <ul>
              {pages.map(([address, label]) => (
                <li>
                  <a href={address} aria-current={address === path ? "page" : undefined}>
                    {label}
                  </a>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </details>
  </nav>
);
