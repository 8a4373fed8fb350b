from __future__ import annotations

from latecomer.report.page import Page, Table, legend, section

TABLE = Table(("wait", "in time"), [("1 s", "90 %"), ("<1 h>", "100 %")])


def test_texts_are_escaped_and_html_is_not() -> None:
    page = Page("<t>", "<h>", "<p>choose</p>", ["<n>"], ["<section>s</section>"], "<f>").render()

    for plain in ("&lt;t&gt;", "&lt;h&gt;", "<li>&lt;n&gt;</li>", "&lt;f&gt;"):
        assert plain in page
    for html in ("<p>choose</p>", "<section>s</section>"):
        assert html in page


def test_a_page_is_one_file_that_fetches_nothing() -> None:
    page = Page("t", "h", "", [], [], "f").render()

    assert page.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in page
    assert "<script" not in page
    # All placeholders of the template are filled.
    assert "$" not in page


def test_a_section_has_a_figure_and_beside_it_a_table() -> None:
    text = section("What a wait keeps", "A row & its delay", "<svg/>", TABLE)

    assert "<h2>What a wait keeps</h2><p>A row &amp; its delay</p>" in text
    assert "<figure><svg/></figure><table" in text
    assert "<caption>What a wait keeps: the numbers</caption>" in text


def test_a_section_may_have_no_figure() -> None:
    assert "<figure>" not in section("Measures", "", "", TABLE)


def test_the_first_cell_of_a_row_says_what_the_others_are_about() -> None:
    text = section("Waits", "", "", TABLE, "wide")

    assert '<table class="wide">' in text
    assert '<th scope="col">wait</th><th scope="col">in time</th>' in text
    assert '<tr><th scope="row">1 s</th><td>90 %</td></tr>' in text
    assert '<th scope="row">&lt;1 h&gt;</th>' in text


def test_a_legend_says_what_each_colour_is() -> None:
    text = legend("rows & cells", [("shade-0", "1 <row>")])

    assert 'aria-label="rows &amp; cells"' in text
    assert '<li><i class="shade-0"></i>1 &lt;row&gt;</li>' in text
