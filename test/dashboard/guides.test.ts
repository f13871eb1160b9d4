/** The guides as files: their links are also valid on a code host. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { describe, expect, test } from "vitest";
import { GUIDES } from "../../src/dashboard/docs/contents.ts";
import { renderGuide } from "../../src/dashboard/docs/guide/render.ts";
import { ROOT } from "../../src/dev/bundle.ts";

const imageUrl = (name: string) => `/assets/${name}`;
const render = (markdown: string) => renderGuide(markdown, imageUrl);
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** Headings by path, because most guides are linked to several times. */
const headings = new Map<string, string[]>();

function headingsOf(path: string): string[] {
  const ids = headings.get(path) ?? render(read(path)).headings.map(({ id }) => id);
  headings.set(path, ids);
  return ids;
}

const guides = globSync("src/dashboard/guides/*.md", { cwd: ROOT });

test("the navigation names every guide", () => {
  expect([...GUIDES.values()].toSorted()).toEqual(
    guides.map((path) => basename(path, ".md")).toSorted(),
  );
});

/** A path in the repository, without placeholders. */
const PATH = /^(?:\.ci|\.github|migrations|runner|src|test)\/[\w./-]*$/;

describe.each(["README.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md", ...guides])(
  "%s",
  (path) => {
    test("every link leads to a file and a heading", () => {
      const html = micromark(read(path), { extensions: [gfm()], htmlExtensions: [gfmHtml()] });
      const links = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link = ""]) => link);
      const broken = links.filter((link) => {
        if (/^https:\/\//.test(link)) return false;
        const [file = "", id] = link.split("#");
        const target = file === "" ? path : relative(ROOT, join(ROOT, dirname(path), file));
        if (!existsSync(join(ROOT, target))) return true;
        return id !== undefined && !headingsOf(target).includes(id);
      });
      expect(broken).toEqual([]);
    });

    test("messages in JSON are given to the command as JSON", () => {
      const calls = read(path).match(/auspex run .*/g) ?? [];
      expect(calls.filter((call) => /messages='?\[/.test(call))).toEqual([]);
    });

    test("every file and folder that a guide names exists", () => {
      const names = [...read(path).matchAll(/`([^`\n]+)`/g)].map(([, name = ""]) => name);
      const paths = names.filter((name) => PATH.test(name));
      expect(paths.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
    });
  },
);

describe("a guide as HTML", () => {
  test("a guide as HTML has its title, its first paragraph and its sections", () => {
    const guide = render('# The `title`\n\nWhat it *says* & "means".\n\nMore.\n\n## One\n\nText.');
    expect(guide.title).toBe("The title");
    expect(guide.description).toBe('What it says & "means".');
    expect(guide.introduction).toContain("<p>More.</p>");
    expect(guide.sections).toBe('<h2 id="one"><a href="#one">One</a></h2>\n<p>Text.</p>');
    expect(guide.headings).toEqual([{ level: 2, id: "one", html: "One" }]);
  });

  test("headings have the ids that GitHub gives them", () => {
    const titles = [
      ["Workers, Deno, Bun, Hono, Next.js", "workers-deno-bun-hono-nextjs"],
      ["`Prefer: wait` & more", "prefer-wait--more"],
      ["snake_case-Names", "snake_case-names"],
      ["Create", "create"],
      ["Create", "create-1"],
      ["Überblick", "überblick"],
    ];
    const { headings } = render(`# T\n\n${titles.map(([title]) => `## ${title}`).join("\n\n")}`);
    expect(headings.map(({ id }) => id)).toEqual(titles.map(([, id]) => id));
  });

  test.each([
    ["[a](files.md)", '<p><a href="/docs/files">a</a></p>'],
    ["[a](files.md#read-files)", '<p><a href="/docs/files#read-files">a</a></p>'],
    ["[a](#here)", '<p><a href="#here">a</a></p>'],
    [
      "[a](https://example.com/x?a=1&b=2)",
      '<p><a href="https://example.com/x?a=1&amp;b=2">a</a></p>',
    ],
    ["[a](../../../LICENSE)", "<p>a (<code>LICENSE</code>)</p>"],
    ["[SECURITY.md](../../../.github/SECURITY.md)", "<p><code>.github/SECURITY.md</code></p>"],
    ["`[a](files.md)`", "<p><code>[a](files.md)</code></p>"],
    ["<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>"],
    [
      "![A picture](a.svg)",
      '<p><a class="picture" href="/assets/a.svg"><img src="/assets/a.svg" alt="A picture" /></a></p>',
    ],
    [
      "> [!WARNING]\n> Beware.",
      '<blockquote class="alert">\n<p><strong>Warning</strong></p>\n<p>Beware.</p>\n</blockquote>',
    ],
  ])("the Markdown %j becomes HTML", (markdown, html) => {
    expect(render(`# T\n\n## S\n\n${markdown}`).sections).toBe(
      `<h2 id="s"><a href="#s">S</a></h2>\n${html}`,
    );
  });
});
