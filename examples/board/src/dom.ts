export function element<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Partial<HTMLElementTagNameMap[K]> = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** The same for the same name. */
export function color(name: string): string {
  let hash = 7;
  for (const char of name) hash = (hash * 31 + char.charCodeAt(0)) % 360;
  return `oklch(0.62 0.13 ${hash})`;
}

/** Text of an element, written only if it differs. */
export function write(to: Element, text: string): void {
  if (to.textContent !== text) to.textContent = text;
}
