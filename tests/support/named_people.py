"""Names of people that are hard to find in a text: words, months, titles, namesakes, other scripts."""

PEOPLE = (
    "Eva",
    "Jonas",
    "Alice",
    "Bob",
    "Will",
    "May",
    "Anna Berg",
    "Anna Holm",
    "Dr. Watson",
    "José",
    "山田",
    "ジョン",
    "민수",
)
