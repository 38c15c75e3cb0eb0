import { expect, test } from 'vitest';
import { findNotes } from '../.github/release-notes.ts';

const CHANGELOG = `# Changelog

## 1.1.0 (unreleased)

- More.

## 1.0.0 (2026-11-21)

- You can list.
- You can update.

## 0.9.0 (2026-11-01)
`;

test('findNotes gives the section of a version', () => {
  expect(findNotes(CHANGELOG, '1.0.0', 'v1.0.0')).toEqual({ notes: '- You can list.\n- You can update.' });
});

test('findNotes accepts an unreleased section only if nothing is tagged', () => {
  expect(findNotes(CHANGELOG, '1.1.0', undefined)).toEqual({ notes: '- More.' });
  expect(findNotes(CHANGELOG, '1.1.0', 'v1.1.0')).toEqual({ fault: 'CHANGELOG.md says that 1.1.0 is unreleased' });
});

test('findNotes refuses a tag that names another version', () => {
  expect(findNotes(CHANGELOG, '1.0.0', 'v1.0.1')).toEqual({ fault: 'the tag v1.0.1 does not name the version 1.0.0' });
});

test('findNotes refuses a version that the changelog lacks', () => {
  expect(findNotes(CHANGELOG, '2.0.0', undefined)).toHaveProperty('fault', 'CHANGELOG.md has no section "## 2.0.0 (year-month-day)"');
  expect(findNotes(CHANGELOG, '0.9.0', undefined)).toEqual({ fault: 'CHANGELOG.md says nothing of 0.9.0' });
});
